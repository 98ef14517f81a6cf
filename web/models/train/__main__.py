import torch
from tiny.training import train
torch.set_num_threads(2)
print(train()[2])
