"""The report in a browser. That nothing is on the console, every test here checks at its end."""

import pytest

webdriver = pytest.importorskip("selenium.webdriver")
By = pytest.importorskip("selenium.webdriver.common.by").By
WebDriverWait = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait

PIXELS = "return document.getElementById('picture-canvas').toDataURL()"
SLIDE = """
const slider = document.getElementById('picture-epoch');
slider.value = arguments[0];
slider.dispatchEvent(new Event('input'));
"""


def cells(browser, label):
    rows = browser.find_elements(
        By.CSS_SELECTOR, f"main > section:first-child td[data-label='{label}']"
    )
    return [row.get_attribute("data-value") for row in rows if row.is_displayed()]


def header(browser, name):
    (button,) = [
        button
        for button in browser.find_elements(By.CSS_SELECTOR, "thead button")
        if button.text.startswith(name) and button.is_displayed()
    ]
    return button


def test_a_click_on_a_header_sorts_the_table_and_another_turns_it_round(look, page):
    browser = look(page)
    as_written = cells(browser, "OOD test")
    header(browser, "OOD test").click()
    up = cells(browser, "OOD test")
    assert [float(v) for v in up] == sorted(map(float, as_written))
    header(browser, "OOD test").click()
    assert cells(browser, "OOD test") == up[::-1] != up
    heads = browser.find_elements(By.CSS_SELECTOR, "main > section:first-child table th[aria-sort]")
    assert [head.get_attribute("aria-sort") for head in heads].count("descending") == 1
    header(browser, "− erm").click()
    assert cells(browser, "− erm")[-1] == ""  # the baseline's own: last whichever the order
    header(browser, "− erm").click()
    assert cells(browser, "− erm")[-1] == ""


def test_the_slider_moves_and_the_picture_changes(look, page):
    browser = look(page)
    shown = browser.find_element(By.ID, "picture-shown")
    assert shown.text == "11 of 11"
    last = browser.execute_script(PIXELS)
    browser.execute_script(SLIDE, 0)
    assert shown.text == "0 of 11"
    assert browser.execute_script(PIXELS) != last
    slider = browser.find_element(By.ID, "picture-epoch")
    slider.send_keys("\ue014")  # the right arrow: it moves by the keyboard too
    assert shown.text == "1 of 11"
    browser.execute_script(SLIDE, 11)
    assert browser.execute_script(PIXELS) == last


def test_play_runs_through_the_epochs_and_stops(look, page):
    browser = look(page)
    browser.find_element(By.ID, "picture-play").click()
    assert browser.find_element(By.ID, "picture-play").text == "Pause"
    wait = """
    const done = arguments[0], shown = document.getElementById('picture-shown');
    const look = () => shown.textContent === '11 of 11' ? done(true) : setTimeout(look, 30);
    setTimeout(look, 300);
    """
    assert browser.execute_async_script(wait)
    assert browser.find_element(By.ID, "picture-play").text == "Play"


def test_another_method_and_another_colouring_are_other_pictures(look, page):
    browser = look(page)
    seen = {browser.execute_script(PIXELS)}
    for control, value in (("method", "1"), ("colour", "class"), ("colour", "part")):
        browser.execute_script(
            "const c = document.getElementById(arguments[0]); c.value = arguments[1];"
            "c.dispatchEvent(new Event('input'))",
            f"picture-{control}",
            value,
        )
        seen.add(browser.execute_script(PIXELS))
    assert len(seen) == 4
    assert "OOD test" in browser.find_element(By.ID, "picture-key").text


def test_a_node_is_read_off_by_pointer_and_by_keyboard(look, page):
    browser = look(page)
    said = browser.find_element(By.ID, "picture-node")
    canvas = browser.find_element(By.ID, "picture-canvas")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    webdriver.ActionChains(browser).move_to_element(canvas).perform()
    assert "degree" in said.text
    before = said.text
    canvas.send_keys("\ue014")
    assert said.text != before
    assert "weight" in said.text


def test_values_of_the_curves_are_read_off_under_the_pointer(look, page):
    browser = look(page)
    chart = browser.find_element(By.CSS_SELECTOR, "svg.chart")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    webdriver.ActionChains(browser).move_to_element(chart).perform()
    said = browser.find_element(By.CSS_SELECTOR, ".readout")
    assert said.text.startswith("epoch 6: erm ") or said.text.startswith("epoch 5: erm ")
    assert "±" in said.text


def test_a_method_can_be_switched_off(look, page):
    browser = look(page)
    shown = """
    return [...document.querySelectorAll('[data-method="0"]')].map(e => !!e.getClientRects().length)
    """
    assert all(browser.execute_script(shown))
    button = browser.find_element(By.CSS_SELECTOR, "[data-toggle='0']")
    button.click()
    assert not any(browser.execute_script(shown))
    assert button.get_attribute("aria-pressed") == "false"


@pytest.mark.parametrize("dark", [False, True])
def test_at_400_pixels_nothing_is_cut_and_nothing_is_tiny(look, page, dark):
    browser = look(page, width=400, dark=dark)
    wide = """
    const outside = [...document.querySelectorAll('body *')].filter(
      e => e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1);
    const names = outside.map(e => e.outerHTML.slice(0, 80));
    return [document.documentElement.scrollWidth, innerWidth, names];
    """
    scroll, window, outside = browser.execute_script(wide)
    assert scroll <= window == 400
    assert outside == []
    small = """
    return Math.min(...[...document.querySelectorAll('p, td, th, text, button, li, dd, caption')]
      .filter(e => e.getClientRects().length)
      .map(e => parseFloat(getComputedStyle(e).fontSize) *
        (e.ownerSVGElement ? e.ownerSVGElement.getBoundingClientRect().width / 360 : 1)))
    """
    assert browser.execute_script(small) >= 10.5
    label = "return getComputedStyle(document.querySelector('td'), '::before').content"
    assert browser.execute_script(label) == '"runs"'


def test_dark_mode_is_dark_and_the_picture_follows(look, page):
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = look(page)
    assert light.execute_script(ground) == "rgb(255, 255, 255)"
    picture = light.execute_script(PIXELS)
    # The page is not loaded again: a reader's system turns dark in the evening.
    light.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    assert light.execute_script(ground) == "rgb(20, 23, 27)"
    # The browser tells the page of it when it comes to it.
    WebDriverWait(light, 10).until(lambda tab: tab.execute_script(PIXELS) != picture)


def test_the_page_asks_for_nothing(look, page):
    browser = look(page)
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize("width", [400, 1200])
def test_names_that_are_programs_do_not_run(look, hostile, width):
    browser = look(hostile, width=width)
    browser.execute_script(SLIDE, 0)
    colour = "const c = document.getElementById('picture-colour'); c.value = 'class';"
    browser.execute_script(colour + "c.dispatchEvent(new Event('input'))")
    canvas = browser.find_element(By.ID, "picture-canvas")
    for _ in range(3):
        canvas.send_keys("\ue014")
    assert "<script>" in browser.find_element(By.ID, "picture-key").text
    assert browser.execute_script("return window.hacked === undefined")
    assert browser.execute_script("return document.images.length") == 0


def test_a_run_alone_is_looked_at_the_same_way(look, comparison, tmp_path):
    from upwind.report import open_records, write

    write(open_records(comparison.members()[0].folder), tmp_path / "erm.html")
    browser = look(tmp_path / "erm.html", width=400)
    assert "OOD test" in browser.find_element(By.TAG_NAME, "main").text
    assert not browser.find_elements(By.ID, "picture")
