"""Generates English: short texts whose words depend on one another, so that attention heads have relations to find.

They have agreement across a distance, pronouns and their antecedents, repeated names, lists, questions and invented
names. `document(random)` returns one text, of one sentence or a few.
"""


def forms(text):
    """Verbs as [base, third person, past]."""
    return [word.split("/") for word in text.split()]


GIRLS = """
    Anna Mary Lucy Emma Sarah Julia Clara Nina Rosa Ella Maya Alice Eva Laura Helen Ruth Zoe Grace Jane Kate
""".split()
BOYS = "Tom John Peter James David Paul Max Leo Sam Ben Oscar Hugo Daniel Martin Jack Adam Noah Simon Luke Mark".split()
WOMEN = "girl woman/women queen teacher doctor mother sister aunt grandmother farmer nurse singer".split()
MEN = "boy man/men king baker sailor father brother uncle grandfather driver painter cook".split()
ANIMALS = """
    cat dog bird horse cow sheep/sheep fox/foxes wolf/wolves bear rabbit mouse/mice duck goat lion monkey frog
    pig owl kitten puppy/puppies
""".split()
THINGS = """
    ball book box/boxes cup hat key lamp letter apple stone toy coat bag picture map bottle clock knife/knives
    chair phone basket shoe car boat
""".split()
PLACES = """
    mat rug bed sofa table bench/benches roof floor wall bridge grass/grass road hill field box/boxes step
    carpet
""".split()
ROOMS = """
    kitchen garden school market park library house forest village shop station city river farm church museum
""".split()
FRUITS = """
    apples pears plums grapes oranges lemons bananas eggs carrots potatoes beans onions bread butter cheese milk
    honey rice tea salt
""".split()
COLOURS = "red blue green yellow black white brown grey orange pink".split()
SIZES = "big small old new little young tall heavy quiet strange".split()
TIRED = "tired hungry happy sad afraid cold sleepy lonely angry thirsty ill warm curious excited".split()
SOFT = "soft warm dry clean wide flat comfortable near low quiet empty".split()
BROKEN = "broken heavy empty old dirty wet too_small too_big lost useless".split()  # sentence() replaces _ by a space
GOOD = "beautiful useful new light pretty strong cheap rare".split()
SIT = forms("""
    sit/sits/sat sleep/sleeps/slept lie/lies/lay stand/stands/stood jump/jumps/jumped rest/rests/rested
    wait/waits/waited
""")
GO = forms("go/goes/went run/runs/ran walk/walks/walked come/comes/came hurry/hurries/hurried")
DO = forms("""
    sing/sings/sang laugh/laughs/laughed play/plays/played work/works/worked dance/dances/danced
    smile/smiles/smiled swim/swims/swam cry/cries/cried read/reads/read
""")
SEE = forms("""
    see/sees/saw chase/chases/chased follow/follows/followed find/finds/found watch/watches/watched
    hear/hears/heard like/likes/liked love/loves/loved help/helps/helped know/knows/knew meet/meets/met
    call/calls/called
""")
TAKE = forms("""
    take/takes/took buy/buys/bought want/wants/wanted carry/carries/carried lose/loses/lost keep/keeps/kept
    sell/sells/sold hide/hides/hid break/breaks/broke need/needs/needed bring/brings/brought open/opens/opened
""")
GIVE = forms("""
    give/gives/gave show/shows/showed bring/brings/brought send/sends/sent offer/offers/offered
    pass/passes/passed sell/sells/sold
""")
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
NUMBERS = "two three four five six seven eight nine ten".split()
SYLLABLES = """
    ba be bi bo da de do fa fi go ka ke ki ko la le li lo lu ma me mi mo na ne ni no pa pe po ra re ri ro sa se
    si so ta te ti to va ve vi vo za ze zo
""".split()


def plural(word):
    one, _, many = word.partition("/")
    return many or one + "s"


def singular(word):
    return word.partition("/")[0]


class Someone:
    """A person, animal or thing with the words that agree with it."""

    def __init__(self, r, kinds="name person animal", number=None):
        kind = r.choice(kinds.split())
        self.many = number == "many" or number is None and kind != "name" and r.random() < 0.25
        woman = r.random() < 0.5
        if kind == "name":
            self.short = self.text = r.choice(GIRLS if woman else BOYS)
            if number is None and r.random() < 0.15:
                other = r.choice([n for n in GIRLS + BOYS if n != self.text])
                self.short = self.text = f"{self.text} and {other}"
                self.many = True
        else:
            noun = r.choice({"person": WOMEN if woman else MEN, "animal": ANIMALS, "thing": THINGS, "place": PLACES}[kind])
            self.noun = plural(noun) if self.many else singular(noun)
            adjective = r.choice(SIZES + COLOURS if kind in ("thing", "animal") else SIZES[2:8])
            self.short = "the " + self.noun
            self.text = f"the {adjective} {self.noun}" if r.random() < 0.35 else self.short
        if self.many:
            self.he, self.him, self.his, self.was, self.is_, self.form = "they", "them", "their", "were", "are", 0
        elif kind in ("animal", "thing", "place"):
            self.he, self.him, self.his, self.was, self.is_, self.form = "it", "it", "its", "was", "is", 1
        elif woman:
            self.he, self.him, self.his, self.was, self.is_, self.form = "she", "her", "her", "was", "is", 1
        else:
            self.he, self.him, self.his, self.was, self.is_, self.form = "he", "him", "his", "was", "is", 1

    def verb(self, forms, past):
        return forms[2] if past else forms[self.form]

    def be(self, past):
        return self.was if past else self.is_


def a(text):
    return ("an " if text[0] in "aeiou" else "a ") + text


def sentence(text, end="."):
    text = text.replace("_", " ")
    return text[0].upper() + text[1:] + end


def listing(words):
    return (", ".join(words[:-1]) + " and " + words[-1]) if len(words) > 1 else words[0]


def place(r):
    return f"{r.choice(['on', 'on', 'on', 'under', 'near', 'behind', 'beside'])} the {singular(r.choice(PLACES))}"


def reason(r):
    """The cat sat on the mat because it was tired. | ... because it was soft."""
    who, past = Someone(r), r.random() < 0.7
    where = singular(r.choice(PLACES))
    verb = who.verb(r.choice(SIT), past)
    if r.random() < 0.6 or where == "grass":
        why = f"{who.he} {who.be(past)} {r.choice(TIRED)}"
    else:
        why = f"it {'was' if past else 'is'} {r.choice(SOFT)}"
    if r.random() < 0.2:
        if why[:2] == "it":
            why = f"{who.text} {who.be(past)} {r.choice(TIRED)}"
        return sentence(f"because {why}, {who.he} {verb} on the {where}")
    return sentence(f"{who.text} {verb} {r.choice(['on', 'on', 'on', 'near', 'under'])} the {where} because {why}")


def refused(r):
    """Tom did not take the box because it was too heavy. | ... because he was tired."""
    who, what = Someone(r, "name person"), Someone(r, "thing")
    verb = r.choice(TAKE)
    if r.random() < 0.5:
        act, why = f"did not {verb[0]}", f"{what.he} {what.was} {r.choice(BROKEN)}"
    else:
        act, why = verb[2], f"{what.he} {what.was} {r.choice(GOOD)}"
    if r.random() < 0.4:
        why = f"{who.he} {who.was} {r.choice(TIRED)}"
    return sentence(f"{who.text} {act} {what.text} because {why}")


def attractor(r):
    """The keys to the old box are lost. The dog that saw the cats is hungry."""
    past = r.random() < 0.4
    if r.random() < 0.5:
        head, other = Someone(r, "thing"), Someone(r, "thing person place")
        link = r.choice(["near", "beside", "of", "behind", "from"])
        end = r.choice(BROKEN + GOOD)
    else:
        head, other = Someone(r, "animal person"), Someone(r, "animal person name")
        link = r.choice([f"that {head.verb(r.choice(SEE), past)}",
        f"who {head.verb(r.choice(SEE), past)}", "with", "near"])
        end = r.choice(TIRED)
    if r.random() < 0.3:
        return sentence(f"{head.text} {link} {other.text} {head.verb(r.choice(SIT), past)} {place(r)}")
    return sentence(f"{head.text} {link} {other.text} {head.be(past)} {end}")


def giving(r):
    """When Mary and John went to the market, John gave a cup to Mary. She thanked him."""
    one, two = Someone(r, "name", "one"), Someone(r, "name person", "one")
    while two.short == one.short or two.he == one.he and r.random() < 0.7:
        two = Someone(r, "name person", "one")
    giver, taker = (one, two) if r.random() < 0.5 else (two, one)
    thing = singular(r.choice(THINGS))
    go = r.choice(GO)[2]
    start = sentence(f"when {one.short} and {two.short} {go} to the {r.choice(ROOMS)}, "
                     f"{giver.short} {r.choice(GIVE)[2]} {a(thing)} to {taker.short}")
    if one.he == two.he:
        return start + " " + sentence(f"{taker.short} put the {thing} {place(r)}")
    return start + " " + sentence(r.choice([
        f"{taker.he} thanked {giver.him}", f"{taker.he} put the {thing} {place(r)}",
        f"{giver.he} smiled when {taker.he} took the {thing}",
        f"{taker.he} liked the {thing}, and {giver.he} was happy"]))


def shopping(r):
    """Lucy wanted pears, eggs and milk. She bought pears, eggs and milk."""
    who, items = Someone(r, "name person"), r.sample(FRUITS, r.randint(2, 5))
    text = sentence(f"{who.text} {r.choice(['wanted', 'needed', 'asked for'])} {listing(items)}")
    text += " " + sentence(f"{who.he} {r.choice(['bought', 'found', 'took', 'brought home'])} {listing(items)}")
    if r.random() < 0.4:
        text += " " + sentence(f"{who.he} ate the {r.choice(items)}")
    return text


def where(r):
    """The key is in the box. Where is the key? The key is in the box."""
    things = [singular(t) for t in r.sample(THINGS, 3)]
    spots = [place(r) if r.random() < 0.7 else f"in the {r.choice(ROOMS)}" for _ in range(3)]
    n = r.randint(1, 3)
    facts = [sentence(f"the {things[i]} is {spots[i]}") for i in range(n)]
    i = r.randrange(n)
    answer = sentence(f"the {things[i]} is {spots[i]}" if r.random() < 0.5 else f"it is {spots[i]}")
    return " ".join(facts + [sentence(f"where is the {things[i]}", "?"), answer])


def colours(r):
    """Anna has a red hat and Tom has a blue hat. The red hat belongs to Anna."""
    people = r.sample(GIRLS + BOYS, r.randint(2, 3))
    shades = r.sample(COLOURS, len(people))
    thing = singular(r.choice(THINGS))
    facts = listing([f"{p} has {a(c)} {thing}" for p, c in zip(people, shades)])
    i = r.randrange(len(people))
    return sentence(facts) + " " + sentence(r.choice([
        f"the {shades[i]} {thing} belongs to {people[i]}", f"{people[i]} likes the {shades[i]} {thing}"]))


def invented(r):
    """Losamive is a small dragon. Losamive lives in Tiroka. Everyone in Tiroka loves Losamive."""
    def name():
        return "".join(r.sample(SYLLABLES, r.randint(2, 4))).capitalize()
    who, town = name(), name()
    kind = r.choice([singular(x) for x in ANIMALS + ["dragon", "robot", "giant"]])
    parts = [f"{who} is {a(r.choice(SIZES))} {kind}", f"{who} lives in {town}",
             f"everyone in {town} {r.choice(['loves', 'knows', 'likes'])} {who}",
             f"one day {who} {r.choice(GO)[2]} to {name()}", f"the {kind} from {town} is called {who}",
             f"{who} said that {town} was {r.choice(['beautiful', 'cold', 'far away', 'quiet'])}"]
    return " ".join(sentence(p) for p in [parts[0]] + r.sample(parts[1:], r.randint(1, 4)))


def story(r):
    """Three to five sentences about one or two characters who are named again."""
    who, friend = Someone(r), Someone(r, "name person animal", "one")
    while friend.short == who.short:
        friend = Someone(r, "name person animal", "one")
    room, thing = r.choice(ROOMS), Someone(r, "thing", "one")
    opening = r.choice([f"{who.text} {who.was} in the {room}", f"one day {who.text} {r.choice(GO)[2]} to the {room}",
                        f"on {r.choice(DAYS)} {who.text} {r.choice(GO)[2]} to the {room}",
                        f"{who.text} {who.was} {r.choice(TIRED)}"])
    middle = [f"{who.he} {r.choice(SEE)[2]} {friend.text} there", f"{friend.short} {r.choice(DO)[2]} in the {room}",
              f"{who.short} and {friend.short} {r.choice(DO)[2]} together",
              f"{who.he} {r.choice(TAKE)[2]} {thing.text} and put it {place(r)}",
              f"{who.short} {r.choice(TAKE)[2]} {thing.text}, but it was {r.choice(BROKEN)}",
              f"{friend.short} {friend.was} {r.choice(TIRED)}, so {who.short} helped {friend.him}",
              f"{who.his} {r.choice(['mother', 'father', 'friend', 'home'])} was not far away",
              f"{who.he} waited for {r.choice(NUMBERS)} days"]
    closing = r.choice([f"then {who.he} {r.choice(GO)[2]} home",
    f"after that {who.short} and {friend.short} were friends",
                        f"in the evening {who.short} {who.was} {r.choice(TIRED)}",
                        f"{who.short} never forgot {friend.short}"])
    return " ".join(sentence(p) for p in [opening] + r.sample(middle, r.randint(1, 3)) + [closing])


def speech(r):
    """"Where is my hat?" asked Tom. "Your hat is on the chair," said Anna."""
    one, two = Someone(r, "name", "one"), Someone(r, "name person", "one")
    thing = singular(r.choice(THINGS))
    spot = place(r)
    if r.random() < 0.5:
        return f"\"Where is my {thing}?\" asked {one.short}. \"Your {thing} is {spot},\" said {two.short}."
    return f"\"I am {r.choice(TIRED)},\" said {one.short}. " + sentence(f"{two.short} said that {two.he} was {r.choice(TIRED)} too")


def plain(r):
    """Somebody does something, in two halves that share tense and number."""
    one, two, past = Someone(r), Someone(r, "name person animal thing"), r.random() < 0.6
    first = f"{one.text} {one.verb(r.choice(SEE), past)} {two.text}"
    second = r.choice([f"and {one.he} {one.verb(r.choice(DO), past)}",
                       f"while {one.he} {one.verb(r.choice(SIT), past)} {place(r)}",
                       f"and {one.he} {one.verb(r.choice(GO), past)} to the {r.choice(ROOMS)} with {one.his} {singular(r.choice(THINGS))}",
                       f"when {one.he} {one.verb(r.choice(GO), past)} home",
                       f"{place(r)}", "every day" if not past else "yesterday"])
    return sentence(f"{first} {second}")


def counting(r):
    """Monday, Tuesday, Wednesday. | one, two, three, four."""
    words = r.choice([DAYS, ["one"] + NUMBERS])
    start = r.randrange(len(words) - 2)
    return sentence(", ".join(words[start:start + r.randint(3, 6)]))


KINDS = [reason] * 6 + [refused] * 3 + [attractor] * 4 + [giving] * 3 + [shopping] * 2 + [where] * 2 + [colours] * 2 + \
        [invented] * 4 + [story] * 6 + [speech] * 2 + [plain] * 4 + [counting]


def document(r):
    """One generated text; r is a random.Random."""
    texts = [r.choice(KINDS)(r) for _ in range(r.choice((1, 1, 2)))]
    return " ".join(texts)
