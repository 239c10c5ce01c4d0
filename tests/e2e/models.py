# SPDX-License-Identifier: GPL-3.0-or-later
"""The built-in networks in plain PyTorch, as torchvision, timm or a person would write them.

MODELS: kind → function(section [model], shape of a sample, classes) → nn.Module.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn


def batch_norm(config, kind, units):
    return kind(units) if config.get("batch_norm", False) else nn.Identity()


class ProjectionHead(nn.Module):
    def __init__(self, config, features, classes):
        super().__init__()
        norm = config.get("projection_norm", False)
        self.norm = nn.LayerNorm(features, elementwise_affine=False) if norm else nn.Identity()
        self.linear = nn.Linear(features, config["projection"])
        self.last_layer = nn.Linear(config["projection"], classes)
        for layer in (self.linear, self.last_layer):
            nn.init.trunc_normal_(layer.weight, std=.02)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return self.last_layer(self.linear(self.norm(x)))


class ImageNetwork(nn.Module):
    """Subclasses give features(x), samples × features, and the name of their last layer."""

    def project(self, config, last):
        """Replaces the last layer by a projection head, if the configuration has one."""
        self.last = last
        if config.get("projection", 0) == 0:
            return
        layer = getattr(self, last)
        if "head_seed" in config:
            torch.manual_seed(config["head_seed"])
        delattr(self, last)
        self.head = ProjectionHead(config, layer.in_features, layer.out_features)
        self.last = "head"

    def forward(self, x):
        return getattr(self, self.last)(self.features(x))


class Mlp(ImageNetwork):
    def __init__(self, config, shape, classes, hidden):
        super().__init__()
        self.dropout = config.get("dropout", 0)
        self.hidden = range(1, len(hidden) + 1)
        units = [math.prod(shape), *hidden]
        for i in self.hidden:
            setattr(self, f"fc{i}", nn.Linear(units[i - 1], units[i]))
            setattr(self, f"bn{i}", batch_norm(config, nn.BatchNorm1d, units[i]))
        last = f"fc{len(units)}"
        setattr(self, last, nn.Linear(units[-1], classes))
        self.project(config, last)

    def features(self, x):
        x = torch.flatten(x, 1)
        for i in self.hidden:
            x = getattr(self, f"bn{i}")(getattr(self, f"fc{i}")(x))
            x = F.dropout(F.relu(x), self.dropout, self.training)
        return x


class CifarCnn(ImageNetwork):
    def __init__(self, config, shape, classes):
        super().__init__()
        channels, height, width = shape
        self.dropout = config.get("dropout", 0)
        self.conv1 = nn.Conv2d(channels, 32, 3, padding=1)
        self.bn1 = batch_norm(config, nn.BatchNorm2d, 32)
        self.fc1 = nn.Linear(32 * (height // 2) * (width // 2), 128)
        self.bn2 = batch_norm(config, nn.BatchNorm1d, 128)
        self.fc2 = nn.Linear(128, classes)
        self.project(config, "fc2")

    def features(self, x):
        x = F.dropout(F.relu(self.bn1(self.conv1(x))), self.dropout, self.training)
        x = torch.flatten(F.max_pool2d(x, 2), 1)
        return F.dropout(F.relu(self.bn2(self.fc1(x))), self.dropout, self.training)


def conv(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2, bias=False)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs, width, stride, downsample):
        super().__init__()
        self.conv1 = conv(inputs, width, 3, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv(width, width, 3)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = downsample

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, width, stride, downsample):
        super().__init__()
        self.conv1 = conv(inputs, width, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = conv(width, width, 3, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = conv(width, width * self.expansion, 1)
        self.bn3 = nn.BatchNorm2d(width * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(ImageNetwork):
    def __init__(self, config, shape, classes, block, depths):
        super().__init__()
        self.inputs = 64
        self.conv1 = conv(shape[0], 64, 7, 2)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self.make_layer(block, 64, depths[0], 1)
        self.layer2 = self.make_layer(block, 128, depths[1], 2)
        self.layer3 = self.make_layer(block, 256, depths[2], 2)
        self.layer4 = self.make_layer(block, 512, depths[3], 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
        self.project(config, "fc")

    def make_layer(self, block, width, depth, stride):
        outputs = width * block.expansion
        downsample = None
        if stride != 1 or self.inputs != outputs:
            downsample = nn.Sequential(conv(self.inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
        layers = [block(self.inputs, width, stride, downsample)]
        self.inputs = outputs
        layers += [block(outputs, width, 1, None) for _ in range(1, depth)]
        return nn.Sequential(*layers)

    def features(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return torch.flatten(self.avgpool(x), 1)


class Attention(nn.Module):
    def __init__(self, width, heads, dropout, causal):
        super().__init__()
        self.heads = heads
        self.scale = (width // heads) ** -0.5
        self.causal = causal
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.proj_drop = nn.Dropout(dropout)

    def forward(self, x):
        samples, tokens, width = x.shape
        qkv = self.qkv(x).reshape(samples, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attention = (q * self.scale) @ k.transpose(-2, -1)
        if self.causal:
            future = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).triu(1)
            attention = attention.masked_fill(future, -math.inf)
        x = (attention.softmax(dim=-1) @ v).transpose(1, 2).reshape(samples, tokens, width)
        return self.proj_drop(self.proj(x))


class FeedForward(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.act = nn.GELU()
        self.drop1 = nn.Dropout(dropout)
        self.fc2 = nn.Linear(4 * width, width)
        self.drop2 = nn.Dropout(dropout)

    def forward(self, x):
        return self.drop2(self.fc2(self.drop1(self.act(self.fc1(x)))))


class Block(nn.Module):
    def __init__(self, width, heads, dropout, eps, causal=False):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=eps)
        self.attn = Attention(width, heads, dropout, causal)
        self.norm2 = nn.LayerNorm(width, eps=eps)
        self.mlp = FeedForward(width, dropout)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PatchEmbed(nn.Module):
    def __init__(self, channels, width, patch):
        super().__init__()
        self.proj = nn.Conv2d(channels, width, kernel_size=patch, stride=patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class VisionTransformer(ImageNetwork):
    def __init__(self, config, shape, classes, width, heads):
        super().__init__()
        channels, height, columns = shape
        patch = 16 if height >= 64 else 4
        dropout = config.get("dropout", 0)
        self.patch_embed = PatchEmbed(channels, width, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.randn(1, (height // patch) * (columns // patch) + 1, width) * .02)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout, 1e-6) for _ in range(12)))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)
        nn.init.trunc_normal_(self.pos_embed, std=.02)
        nn.init.normal_(self.cls_token, std=1e-6)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=.02)
                nn.init.zeros_(module.bias)
        self.project(config, "head")

    def features(self, x):
        x = self.patch_embed(x)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embed
        return self.norm(self.blocks(x))[:, 0]


class LanguageModel(nn.Module):
    def __init__(self, config, shape, vocabulary):
        super().__init__()
        width, heads, dropout = config.get("width", 64), config.get("heads", 4), config.get("dropout", 0)
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.position_embedding = nn.Embedding(shape[0], width)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout, 1e-5, causal=True)
                                      for _ in range(config.get("depth", 2))))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.token_embedding(tokens) + self.position_embedding(positions)
        return self.head(self.norm(self.blocks(x)))


def torchscript(config, shape, classes):
    return torch.jit.load(config["path"], map_location="cpu").train()


MODELS = {
    "mlp": lambda config, shape, classes: Mlp(config, shape, classes, config.get("hidden", (64, 64))),
    "lenet_300_100": lambda config, shape, classes: Mlp(config, shape, classes, (300, 100)),
    "cifar_cnn": CifarCnn,
    "resnet18": lambda config, shape, classes: ResNet(config, shape, classes, BasicBlock, (2, 2, 2, 2)),
    "resnet50": lambda config, shape, classes: ResNet(config, shape, classes, Bottleneck, (3, 4, 6, 3)),
    "vit_tiny": lambda config, shape, classes: VisionTransformer(config, shape, classes, 192, 3),
    "deit_small": lambda config, shape, classes: VisionTransformer(config, shape, classes, 384, 6),
    "transformer": LanguageModel,
    "torchscript": torchscript,
}
