"""The optimiser of matrices."""
import torch


class Muon(torch.optim.Optimizer):
    """Momentum whose update is made nearly orthogonal by five Newton-Schulz steps (Jordan et al. 2024)."""

    def __init__(self, parameters, lr, momentum=0.95, decay=0.01):
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                velocity = self.state[p].setdefault("velocity", torch.zeros_like(p))
                velocity.lerp_(p.grad, 1 - group["momentum"])
                update = p.grad.lerp(velocity, group["momentum"])
                p.mul_(1 - group["lr"] * group["decay"])
                p.add_(orthogonal(update), alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


def orthogonal(x):
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    return x.T if tall else x


def update(model, loss, optimisers, rate):
    """Makes one update. `optimisers` holds pairs of an optimiser and its full rate, which is multiplied by `rate`."""
    for p in model.parameters():
        p.grad = None
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimiser, full in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = full * rate
        optimiser.step()
    return loss.item()
