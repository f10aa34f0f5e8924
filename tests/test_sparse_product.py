import pytest
import torch

from upwind.sparse import csr, product, take_rows


@pytest.fixture
def matrix() -> torch.Tensor:
    torch.manual_seed(0)
    dense = torch.randn(40, 30) * (torch.rand(40, 30) < 0.2)
    dense[7] = 0
    return dense


def test_the_product_and_its_gradient_are_those_of_the_dense_product(matrix):
    weight = torch.randn(30, 13, requires_grad=True)
    towards = torch.randn(40, 13)
    expected = matrix @ weight
    (gradient,) = torch.autograd.grad(expected, weight, towards)
    found = product(matrix.to_sparse_csr(), weight)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found, weight, towards)[0], gradient)


def test_a_matrix_that_wants_a_gradient_is_refused(matrix):
    with pytest.raises(NotImplementedError):
        product(matrix.to_sparse_csr().requires_grad_(), torch.ones(30, 2))


@pytest.mark.parametrize("index", [[3, 7, 7, 0], []])
def test_rows_are_taken_alike_from_dense_and_sparse(matrix, index):
    index = torch.tensor(index, dtype=torch.int64)
    found = take_rows(matrix.to_sparse_csr(), index)
    assert found.layout == torch.sparse_csr
    assert torch.equal(found.to_dense(), take_rows(matrix, index))


def test_doubles_stay_doubles(matrix):
    double = matrix.double().to_sparse_csr()
    assert product(double, torch.ones(30, 2, dtype=torch.double)).dtype == torch.double


@pytest.mark.slow
def test_a_wide_first_layer_is_ten_times_faster_sparse():
    from time import perf_counter

    torch.manual_seed(0)
    rows, width = 18_333, 6_805  # Coauthor-CS: 60 entries a row, word frequencies fall as 1/rank
    col = torch.multinomial(1 / torch.arange(10.0, width + 10), rows * 60, replacement=True)
    sparse = csr(torch.arange(0, rows * 60 + 1, 60), col, torch.ones(rows * 60), (rows, width))
    batch = torch.randperm(rows)[:4096].sort().values
    weight = torch.randn(width, 300, requires_grad=True)

    def step(x: torch.Tensor) -> torch.Tensor:
        part = take_rows(x, batch)
        out = product(part, weight) if x.layout == torch.sparse_csr else part @ weight
        return torch.autograd.grad(out.square().sum(), weight)[0]

    def best(x: torch.Tensor, times: int) -> float:
        def once() -> float:
            start = perf_counter()
            step(x)
            return perf_counter() - start

        return min(once() for _ in range(times))

    dense = sparse.to_dense()
    torch.testing.assert_close(step(sparse), step(dense), rtol=1e-3, atol=1e-1)
    assert best(dense, 3) > 10 * best(sparse, 7)
