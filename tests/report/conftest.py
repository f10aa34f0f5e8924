"""Comparisons that take a moment, and a browser to look at their reports."""

import dataclasses
import shutil

import pytest

from tests.conftest import small_graph
from upwind.report import write
from upwind.runs import execute
from upwind.runs.compare import fan_out, plan
from upwind.train import load_data

QUICK = {
    "source": "cbas",
    "shift": "covariate",
    "hidden": 8,
    "layers": 2,
    "epochs": 12,
    "steps_per_epoch": 2,
    "coverage": 2,
}
TAR = "tar:tau=0.05"  # large, so that weights move within a few epochs

HOSTILE = [
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 2">',
    "</script><script>window.hacked = 3</script>",
]


@pytest.fixture(scope="session")
def comparison(tmp_path_factory):
    """Three methods on CBAS with two seeds; of the last the second seed was never begun."""
    root = tmp_path_factory.mktemp("report") / "runs"
    made = plan(QUICK, ["erm", TAR, "tar_n"], [1, 2], root, load_data(QUICK))
    assert fan_out(made) == []
    shutil.rmtree(root / made.runs["tar_n"][1])
    return made


@pytest.fixture
def copied(comparison, tmp_path):
    """The same, for tests that change it."""
    shutil.copytree(comparison.root, tmp_path / "runs")
    return dataclasses.replace(comparison, root=tmp_path / "runs")


@pytest.fixture(scope="session")
def page(comparison):
    """Its report."""
    out = comparison.path.with_suffix(".html")
    write(comparison, out)
    return out


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """The report of a run on a graph whose names are programs."""
    root = tmp_path_factory.mktemp("hostile")
    data = small_graph()
    data.label_names, data.name, data.edge_weight = HOSTILE, "<b>small</b>", None
    asked = {"source": "</pre><script>window.hacked = 4</script>.npz", "hidden": 8, "epochs": 3}
    asked |= {"sampler": "full", "layers": 2}
    made = plan(asked, [TAR], [1], root, data)
    execute({**asked, "method": TAR, "seed": 1}, root=root, data=data)
    out = root / "page.html"
    write(made, out, data=data)
    return out


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    """Chromium without a window; where there is none its tests skip."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    service = shutil.which("chromedriver")
    if binary is None or service is None:
        pytest.skip("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (
        *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run"),
        *("disable-background-networking", "disable-component-update", "disable-sync"),
        *("disable-dev-shm-usage", f"user-data-dir={tmp_path_factory.mktemp('chromium')}"),
    ):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(service))
    yield made
    made.quit()


@pytest.fixture
def look(driver):
    """Opens a page at a width, light or dark; at the end nothing may be on the console."""

    def opened(path, *, width=1200, dark=False):
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        driver.get(path.resolve().as_uri())
        return driver

    driver.get_log("browser")
    yield opened
    assert driver.get_log("browser") == []
