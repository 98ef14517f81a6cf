"""Draws the pictures that the image model learns: one shape of any size, place, turn and colour, on a textured ground with
strokes and dots.

Every picture has a number, from which all that is random in it follows: a seed of NumPy's RandomState, whose numbers never
change. Training uses the numbers from 0 on, and pictures from HELD_OUT on are never trained on.
"""
import numpy

SIZE, PATCH = 48, 6  # pixels
HELD_OUT = 2 ** 31
SAMPLES = 2  # in each direction of a pixel, so that edges are smooth
LEAST, MOST = 0.12, 0.25  # the shape's share of the picture's area


def polygon(x, y, corners):
    """True inside a polygon, by the crossings of its edges with the ray to the right of each point."""
    inside = numpy.zeros(x.shape, bool)
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1]):
        crosses = (y0 > y) != (y1 > y)
        inside ^= crosses & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0 if y1 != y0 else 1))
    return inside


def corners(count, *radii):
    """Corners around the middle, whose distances from it are `radii` in turn."""
    angles = numpy.arange(count) * 2 * numpy.pi / count
    return [(radii[i % len(radii)] * numpy.sin(a), radii[i % len(radii)] * numpy.cos(a)) for i, a in enumerate(angles)]


ARROW = [(1, 0), (0.1, 0.85), (0.1, 0.35), (-0.9, 0.35), (-0.9, -0.35), (0.1, -0.35), (0.1, -0.85)]
SHAPES = {
    "circle": lambda x, y: x ** 2 + y ** 2 < 1,
    "square": lambda x, y: numpy.maximum(abs(x), abs(y)) < 0.7,
    "triangle": lambda x, y: polygon(x, y, corners(3, 1)),
    "star": lambda x, y: polygon(x, y, corners(10, 1, 0.45)),
    "cross": lambda x, y: (numpy.minimum(abs(x), abs(y)) < 0.3) & (numpy.maximum(abs(x), abs(y)) < 0.9),
    "ring": lambda x, y: abs(numpy.hypot(x, y) - 0.75) < 0.25,
    "moon": lambda x, y: (x ** 2 + y ** 2 < 1) & ((x - 0.6) ** 2 + y ** 2 > 0.64),
    "heart": lambda x, y: (1.3 * x ** 2 + 1.3 * y ** 2 - 1) ** 3 < 2.2 * x ** 2 * y ** 3,
    "arrow": lambda x, y: polygon(x, y, ARROW),
    "leaf": lambda x, y: numpy.hypot(abs(x) + 0.75, y) < 1.25,
}
LABELS = list(SHAPES)


def grid(side, first, last):
    """The middles x and y of side × side cells between `first` and `last`."""
    line = first + (numpy.arange(side) + 0.5) * (last - first) / side
    return numpy.meshgrid(line, line)


def areas():
    """The area of each shape whose radius is 1, and the largest distance of its points from the middle."""
    x, y = grid(600, -1.3, 1.3)
    inside = {name: shape(x, y) for name, shape in SHAPES.items()}
    return {name: (i.mean() * 2.6 ** 2, numpy.hypot(x, y)[i].max()) for name, i in inside.items()}


AREAS = areas()


def averaged(fine):
    return fine.reshape(SIZE, SAMPLES, SIZE, SAMPLES).mean((1, 3))


def turned(x, y, angle):
    return x * numpy.cos(angle) + y * numpy.sin(angle), y * numpy.cos(angle) - x * numpy.sin(angle)


def texture(r, x, y):
    """A number from 0 to 1 for each point: stripes, a chequered pattern, or blotches."""
    kind, (u, v) = r.randint(3), turned(x, y, r.uniform(0, numpy.pi))
    period = r.uniform(3, 12)
    if kind == 0:
        return 0.5 + 0.5 * numpy.sin(u * 2 * numpy.pi / period + r.uniform(0, 6))
    if kind == 1:
        return ((u // period + v // period) % 2 + 0.5 * r.uniform()) / 1.5
    waves = [numpy.sin(a * u + b * v + c) for a, b, c in zip(*r.normal(0, 0.35, (2, 5)), r.uniform(0, 6, 5))]
    return 1 / (1 + numpy.exp(-1.5 * sum(waves)))


def clutter(r, x, y, image):
    """Draws strokes and dots, which are much smaller than the shape."""
    for _ in range(r.randint(2, 6)):
        u, v = turned(x - r.uniform(0, SIZE), y - r.uniform(0, SIZE), r.uniform(0, numpy.pi))
        length, width = r.choice([0, r.uniform(3, 9)]), r.uniform(0.8, 2.2)
        beyond = numpy.maximum(abs(u) - length, 0)
        image[numpy.hypot(beyond, v) < width] = r.uniform(0, 1, 3)


def far_colour(r, others):
    """A random colour that differs clearly from the others."""
    while True:
        colour = r.uniform(0, 1, 3)
        if min(numpy.linalg.norm(colour - other) for other in others) > 0.45:
            return colour


def picture(number):
    """Returns bytes [SIZE,SIZE,3], the number of the label, and the share [SIZE,SIZE] of each pixel that the shape covers."""
    r = numpy.random.RandomState([number % 2 ** 32])
    x, y = grid(SIZE * SAMPLES, 0, SIZE)
    label = r.randint(len(LABELS))
    area, reach = AREAS[LABELS[label]]
    radius = min(SIZE * (r.uniform(LEAST, MOST) / area) ** 0.5, 0.49 * SIZE / reach)
    left, top = r.uniform(radius * reach, SIZE - radius * reach, 2)
    inside = SHAPES[LABELS[label]](*(turned((x - left) / radius, (y - top) / radius, r.uniform(0, 2 * numpy.pi))))
    ground = r.uniform(0, 1, 3)
    second = numpy.clip(ground + r.normal(0, 0.25, 3), 0, 1)
    image = ground + texture(r, x, y)[..., None] * (second - ground)
    clutter(r, x, y, image)
    shade = r.uniform(-0.15, 0.15, 2)
    image[inside] = far_colour(r, [ground, second]) + ((texture(r, x, y) - 0.5)[..., None] * shade.sum())[inside]
    image = numpy.stack([averaged(image[..., c]) for c in range(3)], -1) + r.normal(0, 0.03, (SIZE, SIZE, 3))
    return numpy.clip(image * 255 + 0.5, 0, 255).astype(numpy.uint8), label, averaged(inside.astype(float))


def patch_shares(covered):
    """The share of each patch that is covered, row by row."""
    side = SIZE // PATCH
    return covered.reshape(side, PATCH, side, PATCH).mean((1, 3)).ravel()
