"""Sentences in English and French that mean the same, with the source words that each target word translates.

Both sides grow together: a phrase has its English words, and its French words with the English ones behind each. Joining the
phrases in the order of either language gives the sentences, and the alignment comes by itself.
"""
import dataclasses
import random

from translator import lexicon
from translator.lexicon import starts_with_vowel

MOST_WORDS = 12  # of an English sentence
ELIDED = {"le", "la", "de", "ne", "que", "je", "me"}
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
POSSESSIVES = {"my": ("mon", "ma", "mes"), "his": ("son", "sa", "ses"), "her": ("son", "sa", "ses"),
               "your": ("votre", "votre", "vos"), "our": ("notre", "notre", "nos"), "their": ("leur", "leur", "leurs")}
# A subject pronoun has the place of its form in Verb.forms, and a gender.
SUBJECTS = {"i": ("je", 0, "m"), "you": ("vous", 3, "m"), "he": ("il", 1, "m"), "she": ("elle", 1, "f"), "it": ("il", 1, "m"),
            "we": ("nous", 2, "m"), "they": ("ils", 4, "m")}
OBJECTS = {"me": "me", "you": "vous", "him": "le", "her": "la", "it": "le", "us": "nous", "them": "les"}
REFLEXIVE = {("i", "me"), ("you", "you"), ("we", "us")}
THIRD, THIRD_PLURAL, PLURALS = 1, 4, (2, 4)

KINDS = ("PERSONS", "ANIMALS", "THINGS", "FOODS", "MASSES", "DRINKS", "PLACES")
NOUNS = {kind: lexicon.nouns(getattr(lexicon, kind)) for kind in KINDS}
BEFORE = [lexicon.adjective(entry, True) for entry in lexicon.entries(lexicon.BEFORE)]
AFTER = [lexicon.adjective(entry, False) for entry in lexicon.entries(lexicon.AFTER)]
UNCOUNTED = ("MASSES", "DRINKS")
LIVING = ("PERSONS", "ANIMALS")


def fitting(kind, adjectives):
    if kind in LIVING:
        return [one for one in adjectives if one.english in lexicon.OF_LIVING]
    if kind == "FOODS" or kind in UNCOUNTED:
        return [one for one in adjectives if one.english in lexicon.OF_FOOD_TOO]
    return [one for one in adjectives if one.english not in lexicon.NOT_OF_THINGS]


# Adjectives that fit a kind of nouns, those before French nouns and those after them.
FITTING = {kind: (fitting(kind, BEFORE), fitting(kind, AFTER)) for kind in NOUNS}
VERBS = {kind: lexicon.verbs(getattr(lexicon, kind)) for kind in (
    "INTRANSITIVE", "TRANSITIVE", "OF_PERSONS", "OF_THINGS", "OF_FOOD", "OF_DRINKS", "OF_PLACES", "TO", "GO", "MODALS")}
ADVERBS, PREPOSITIONS, NUMBERS = (lexicon.pairs(table) for table in (lexicon.ADVERBS, lexicon.PREPOSITIONS, lexicon.NUMBERS))
ENDS = {tense: lexicon.pairs(table) for tense, table in lexicon.ENDS.items()}
STATES = {"like", "love", "hate", "know", "want", "have", "admire", "adore", "understand", "forget"}  # not used with -ing
OF_PLACES = {"in": ("PLACES",), "behind": ("PLACES", "THINGS"), "on": ("THINGS",), "under": ("THINGS",),
             "with": ("PERSONS", "ANIMALS"), "for": ("PERSONS",)}
OF_OBJECTS = {"TRANSITIVE": ("PERSONS", "ANIMALS", "THINGS", "FOODS", "PLACES"), "OF_PERSONS": ("PERSONS",),
              "OF_THINGS": ("THINGS",), "OF_FOOD": ("FOODS", "MASSES", "DRINKS"), "OF_DRINKS": ("DRINKS",),
              "OF_PLACES": ("PLACES",)}


IMPERFECT = {lexicon.BE: lexicon.WAS, lexicon.HAVE: lexicon.HAD}  # their past has one word


class Word:
    """An English word at one place of a sentence, with the noun that decides its French form, and its role beside that noun."""

    def __init__(self, text, role=None, noun=None):
        self.text, self.role, self.noun = text, role, noun

    def agree(self, role, noun):
        self.role, self.noun = role, noun


@dataclasses.dataclass
class Phrase:
    english: list  # of Word
    french: list  # of (text, [Word, ...])
    person: int = THIRD
    gender: str = "m"
    noun: Word = None  # the one that a verb agrees with
    is_name: bool = False

    def __add__(self, other):
        """Both phrases. What says how a verb agrees is the first's."""
        return dataclasses.replace(self, english=self.english + other.english, french=self.french + other.french)

    def after(self, first):
        """This phrase after a determiner."""
        return dataclasses.replace(self, english=first.english + self.english, french=first.french + self.french)


@dataclasses.dataclass
class Pair:
    """`alignment` has, for each target token, the places of the source tokens that it translates. `agreements` are (role, place
    of a source token, place of the noun with which its translation agrees)."""
    source: list
    target: list
    alignment: list
    agreements: list


def word(english, *french):
    """One English word, and the French words that translate it."""
    source = Word(english)
    return Phrase([source], [(text, [source]) for text in french], noun=source)


NOTHING = Phrase([], [])


class Grammar:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, probability):
        return self.random.random() < probability

    def among(self, *weighted):
        """One of the choices of (choice, weight)."""
        return self.random.choices([choice for choice, _ in weighted], [weight for _, weight in weighted])[0]

    def noun(self, kind):
        return lexicon.UNKNOWN_NOUN if self.chance(0.02) else self.random.choice(NOUNS[kind])

    # Noun phrases

    def adjective(self, kind, table):
        """An adjective that fits nouns of this kind. Now and then any adjective does."""
        if table is AFTER and self.chance(0.02):
            return lexicon.UNKNOWN_ADJECTIVE
        return self.random.choice(table if self.chance(0.1) else FITTING[kind][table is AFTER])

    def adjectives(self, kind):
        count = self.among((0, 6), (1, 5), (2, 1))
        if count == 2:
            return [self.adjective(kind, BEFORE), self.adjective(kind, AFTER)]
        return [self.adjective(kind, BEFORE if self.chance(0.4) else AFTER)] if count else []

    def noun_phrase(self, kinds, negated=False, definite=False):
        """A noun with all that belongs to it. After a negated verb, French has "de" for indefinite articles."""
        kind = self.random.choice(kinds)
        if kind == "PERSONS" and self.chance(0.25):
            return self.name()
        is_mass = kind in UNCOUNTED
        if self.chance(0.06) and not is_mass:
            return self.owned(kind)
        plural = not is_mass and self.chance(0.3)
        bare = self.bare(self.noun(kind), plural, self.adjectives(kind))
        return self.determined(bare, plural, is_mass, negated, definite)

    def name(self):
        gender = self.random.choice("mf")
        names = lexicon.NAMES[gender].split()
        name = lexicon.UNKNOWN if self.chance(0.1) else self.random.choice(names)
        phrase = word(name, name)
        phrase.gender, phrase.is_name = gender if name != lexicon.UNKNOWN else "m", True
        return phrase

    def bare(self, noun, plural, adjectives):
        """A noun with adjectives, and without a determiner."""
        last = Word(noun.english_plural if plural else noun.english)
        english = [Word(one.english, "adjective", last) for one in adjectives]
        text = noun.french_plural if plural else noun.french
        before, after = [], []
        for one, source in zip(adjectives, english):
            form = one.form(noun.gender, plural)
            if one.stands_before and noun.gender == "m" and not plural and starts_with_vowel(text):
                form = one.before_vowel
            (before if one.stands_before else after).append((form, [source]))
        person = THIRD_PLURAL if plural else THIRD
        return Phrase([*english, last], [*before, (text, [last]), *after], person, noun.gender, last)

    def determined(self, bare, plural, is_mass, negated, definite):
        kind = self.among(("definite", 5), ("indefinite", 0 if definite else 3), ("possessive", 1.5), ("this", 0.7),
                          ("number", 0.6 if plural and not definite else 0))
        if kind == "number":
            return bare.after(word(*self.random.choice(NUMBERS)))
        english = {"definite": "the", "possessive": self.random.choice(list(POSSESSIVES)),
                   "this": self.random.choice(["these", "those"] if plural else ["this", "that"])}.get(kind)
        if kind == "indefinite":
            if plural or is_mass:
                english = self.random.choice(["some", None])
            else:
                english = "an" if bare.english[0].text[0] in "aeiou" else "a"
        source = [Word(english, "article", bare.noun)] if english else []
        french = self.article(kind, english, bare, plural, is_mass, negated)
        return bare.after(Phrase(source, [(text, source or [bare.noun]) for text in french]))

    def article(self, kind, english, bare, plural, is_mass, negated):
        """The French determiner's words, before elision and contraction."""
        feminine, vowel = bare.gender == "f", starts_with_vowel(bare.french[0][0])
        definite = "les" if plural else "la" if feminine else "le"
        if kind == "definite":
            return [definite]
        if kind == "possessive":
            return [POSSESSIVES[english][2 if plural else 1 if feminine and not vowel else 0]]
        if kind == "this":
            return ["ces" if plural else "cette" if feminine else "cet" if vowel else "ce"]
        noun_is_first = bare.french[0][1] == [bare.noun]
        if negated or (plural and not noun_is_first):
            return ["de"]
        return ["de", definite] if is_mass else ["des" if plural else "une" if feminine else "un"]

    def owned(self, kind):
        """The king's horse, which is "le cheval du roi"."""
        if self.chance(0.5):
            owner = self.name()
        else:
            owner = self.determined(self.bare(self.noun("PERSONS"), False, []), False, False, False, True)
        plural = self.chance(0.25)
        bare = self.bare(self.noun(kind), plural, self.adjectives(kind) if self.chance(0.4) else [])
        mark = Word("'s", "article", bare.noun)
        article = "les" if plural else "la" if bare.gender == "f" else "le"
        french = [(article, [mark]), *bare.french, ("de", [mark]), *owner.french]
        return Phrase([*owner.english, mark, *bare.english], french,
                      bare.person, bare.gender, bare.noun)

    def subject(self, kinds=LIVING):
        kind = self.among(("pronoun", 4), ("noun", 6), ("two", 0.6), ("of", 0.4))
        if kind == "pronoun":
            english = self.random.choice(list(SUBJECTS))
            french, person, gender = SUBJECTS[english]
            phrase = word(english, french)
            phrase.person, phrase.gender = person, gender
            return phrase
        first = self.noun_phrase(kinds)
        if kind == "noun" or first.is_name and kind == "of":
            return first
        if kind == "of":
            return self.of(first)
        second = self.noun_phrase(kinds)
        both = first + word("and", "et") + second
        both.person, both.noun, both.gender = THIRD_PLURAL, None, "f" if first.gender == second.gender == "f" else "m"
        return both

    def of(self, first):
        return first + word("of", "de") + self.noun_phrase(("PERSONS", "PLACES"), definite=True)

    def place(self):
        """Where something is."""
        english, french = self.random.choice(PREPOSITIONS)
        return word(english, french) + self.noun_phrase(OF_PLACES[english])

    def end(self, tense):
        return word(*self.random.choice(ENDS[tense]))

    # Clauses

    def clause(self, kind, is_question=False, subject=None):
        """A sentence without its full stop. A question begins with the verb's auxiliary, and in French with "est-ce que"."""
        polarity = "yes" if is_question else self.among(("yes", 6), ("not", 3), ("never", 0.7))
        if kind == "copula":
            return self.copula(polarity, is_question, subject)
        subject = subject or self.subject()
        tense = self.among(("present", 5), ("ing", 2), ("past", 3), ("future", 1.5), ("modal", 1.5))
        group = VerbGroup(self, tense, polarity, is_question, subject)
        verb, rest, pronoun = self.predicate(kind, tense, polarity != "yes", subject)
        if tense == "ing" and verb.base in STATES:
            tense = group.tense = "present"
        return group.clause(verb, rest, pronoun)

    def predicate(self, kind, tense, negated, subject):
        """Returns a verb, what follows it, and an object pronoun."""
        more = self.place() if self.chance(0.25) else NOTHING
        ends = "past" if tense == "past" else "future" if tense == "future" else "present"
        more = more + (self.end(ends) if self.chance(0.15) else NOTHING)
        if kind == "intransitive":
            return self.random.choice(VERBS["INTRANSITIVE"]), more, None
        if kind == "go":
            return self.random.choice(VERBS["GO"]), word("to", "à") + self.noun_phrase(("PLACES",), definite=True), None
        if kind == "give":
            given = self.noun_phrase(("THINGS", "FOODS"), negated)
            verb = self.random.choice(VERBS["TO"])
            return verb, given + word("to", "à") + self.noun_phrase(("PERSONS",), definite=True), None
        if kind == "have":
            return lexicon.HAVE, self.noun_phrase([*KINDS[1:-1]], negated), None
        group = self.random.choice([*OF_OBJECTS, "TRANSITIVE"])
        if tense != "past" and group in ("TRANSITIVE", "OF_PERSONS") and self.chance(0.4):
            others = [one for one in OBJECTS.items() if (subject.english[0].text, one[0]) not in REFLEXIVE]
            return self.random.choice(VERBS[group]), more, self.random.choice(others)
        rest = self.noun_phrase(OF_OBJECTS[group], negated)
        return self.random.choice(VERBS[group]), rest + more if len(rest.english) < 4 else rest, None

    def copula(self, polarity, is_question, subject):
        tense = self.among(("present", 5), ("past", 3), ("future", 1))
        kind = self.random.choice(list(NOUNS))
        subject = subject or self.subject((kind,))
        group = VerbGroup(self, tense, polarity, is_question, subject)
        if self.chance(0.25):
            return group.clause(lexicon.BE, self.place(), None)
        one = self.adjective(kind, AFTER if self.chance(0.8) else BEFORE)
        rest = word(one.english, one.form(subject.gender, subject.person in PLURALS))
        rest.noun.agree("predicate", subject.noun)
        return group.clause(lexicon.BE, word("very", "très") + rest if self.chance(0.2) else rest, None)

    # Sentences

    def sentence(self):
        """Returns a Pair of at most MOST_WORDS English words."""
        while True:
            kind = self.among(("statement", 10), ("question", 3), ("wh", 1.5), ("there is", 1), ("two", 1), ("phrase", 0.7))
            phrase, mark = getattr(self, kind.replace(" ", "_"))()
            if len(phrase.english) <= MOST_WORDS:
                return pair(phrase, mark and self.mark(mark))

    def mark(self, mark):
        """Some sentences have no full stop, and some have a French space before the question mark."""
        return self.among((mark, 8), (None, 1)) if mark == "." else self.among((mark, 8), ("▁?", 1), (None, 0.3))

    def kind(self):
        return self.among(("transitive", 5), ("intransitive", 2), ("copula", 2.5), ("have", 0.7), ("give", 1), ("go", 0.7))

    def statement(self):
        return self.clause(self.kind()), "."

    def question(self):
        return self.clause(self.kind(), True), "?"

    def phrase(self):
        return self.noun_phrase(("PERSONS", "ANIMALS", "THINGS", "PLACES", "FOODS")), None

    def wh(self):
        kind = self.among(("where is", 1), ("where", 1), ("who", 1), ("what", 1))
        if kind == "where is":
            subject = self.noun_phrase(("PERSONS", "ANIMALS", "THINGS"), definite=True)
            verb = Word("are" if subject.person == THIRD_PLURAL else "is")
            return word("where", "où") + Phrase([verb], [(lexicon.BE.forms[subject.person], [verb])]) + subject, "?"
        if kind == "where":
            asked = word(*self.random.choice([("where", "où"), ("why", "pourquoi"), ("when", "quand")]))
            return asked + self.clause(self.random.choice(["intransitive", "transitive"]), True), "?"
        if kind == "who":
            return self.clause(self.kind(), False, word("who", "qui")), "?"
        group = VerbGroup(self, self.among(("present", 3), ("past", 1), ("future", 1)), "yes", True, self.subject())
        verbs = self.random.choice(["TRANSITIVE", "OF_THINGS", "OF_FOOD"])
        return word("what", "que") + group.clause(self.random.choice(VERBS[verbs]), NOTHING, None), "?"

    def there_is(self):
        while True:
            what = self.noun_phrase(("PERSONS", "ANIMALS", "THINGS", "FOODS"))
            if what.english[0].text in ("a", "an", "some", *(number for number, _ in NUMBERS)):
                break
        there, verb = Word("there"), Word("are" if what.person == THIRD_PLURAL else "is")
        return Phrase([there, verb], [("il", [there]), ("y", [there]), ("a", [verb])]) + what + self.place(), "."

    def two(self):
        joined = self.random.choice([("and", "et"), ("but", "mais"), ("because", "parce", "que"), ("when", "quand")])
        return self.clause(self.kind()) + word(*joined) + self.clause(self.kind()), "."


@dataclasses.dataclass
class VerbGroup:
    """The verb of a clause with its auxiliaries, negation and adverb, in both languages."""
    grammar: Grammar
    tense: str  # "present", "ing", "past", "future" or "modal"
    polarity: str  # "yes", "not" or "never"
    is_question: bool
    subject: Phrase

    def clause(self, verb, rest, pronoun):
        is_copula = verb is lexicon.BE
        modal = self.grammar.random.choice(VERBS["MODALS"]) if self.tense == "modal" else None
        auxiliary = self.auxiliary(is_copula, modal)
        stands_first = is_copula and self.tense != "future"  # "is" is verb and auxiliary in one
        main = auxiliary if stands_first else Word(self.main_form(verb, auxiliary))
        wish = [self.wish(modal, auxiliary), Word("to")] if modal and modal.particle else []
        particle = [Word(verb.particle)] if verb.particle else []
        finite, others = self.french_verb(verb, modal, wish[0] if wish else auxiliary or main, main)
        main = wish + ([] if stands_first else [main])
        if not others:
            (auxiliary if stands_first else main[-1]).agree("verb", self.subject.noun)
        adverb = self.adverb()
        negation = [Word(self.polarity)] if self.polarity != "yes" else []
        given = word(*pronoun) if pronoun else NOTHING
        english = self.english(auxiliary, negation + adverb.english, [*main, *particle, *given.english])
        if others:
            others = given.french + others
        else:
            finite = given.french + finite
        french = self.french(auxiliary, negation, finite, adverb.french + others)
        return Phrase(english, french) + rest

    def auxiliary(self, is_copula, modal):
        """The English auxiliary, which questions begin with, or None."""
        person, tense = self.subject.person, self.tense
        if tense == "future":
            return Word("will")
        if is_copula and tense == "past":
            return Word("was" if person in (0, THIRD) else "were")
        if is_copula or tense == "ing":
            return Word("am" if person == 0 else "is" if person == THIRD else "are")
        if modal and not modal.particle:
            return Word(modal.base)
        if self.is_question or self.polarity == "not":
            return Word("did" if tense == "past" else "does" if person == THIRD else "do")
        return None

    def wish(self, modal, auxiliary):
        return Word(modal.base if auxiliary or self.subject.person != THIRD else modal.third)

    def main_form(self, verb, auxiliary):
        if self.tense == "ing":
            return verb.ing
        if auxiliary or self.tense == "modal":
            return verb.base
        if self.tense == "past":
            return verb.past
        return verb.third if self.subject.person == THIRD else verb.base

    def french_verb(self, verb, modal, first, main):
        """Returns the finite French verb, and the infinitive or participle after it: they translate `first` and `main`."""
        person = self.subject.person
        if modal or self.tense == "future":
            return [((modal or VERBS["GO"][0]).forms[person], [first])], [(verb.infinitive, [main])]
        if self.tense != "past":
            return [(verb.forms[person], [main])], []
        if verb in IMPERFECT:
            return [(IMPERFECT[verb][person], [main])], []
        forms = (lexicon.BE if verb.with_be else lexicon.HAVE).forms
        return [(forms[person], [first])], [(self.participle(verb), [main])]

    def participle(self, verb):
        if not verb.with_be:
            return verb.participle
        return verb.participle + "e" * (self.subject.gender == "f") + "s" * (self.subject.person in PLURALS)

    def adverb(self):
        """A word between the English auxiliary and its verb, and after the finite French verb."""
        if self.polarity != "yes" or not self.grammar.chance(0.12):
            return NOTHING
        return word(*self.grammar.random.choice(ADVERBS))

    def english(self, auxiliary, between, main):
        first = [auxiliary] if auxiliary else []
        if self.is_question:
            return [*first, *self.subject.english, *between, *main]
        return [*self.subject.english, *first, *between, *main]

    def french(self, auxiliary, negation, finite, tail):
        asked = [("est-ce", [auxiliary]), ("que", [auxiliary])] if self.is_question else []
        if negation:
            finite = [("ne", negation), *finite, ("pas" if self.polarity == "not" else "jamais", negation)]
        return [*asked, *self.subject.french, *finite, *tail]


# Spelling

def contracted(french):
    """French words after elision, as in l'homme, and contraction, as in du."""
    out = []
    for i, (text, sources) in enumerate(french):
        following = french[i + 1][0] if i + 1 < len(french) else ""
        if text in ELIDED and following and starts_with_vowel(following):
            text = text[:-1] + "'"
        if out and (out[-1][0], text) in CONTRACTED:
            before, others = out.pop()
            text, sources = CONTRACTED[before, text], others + [one for one in sources if one not in others]
        out.append((text, sources))
    return out


def tokens_of(text):
    """A French word's tokens: an apostrophe ends one."""
    parts = text.replace("'", "' ").split()
    return ["▁" + parts[0], *parts[1:]]


def pair(phrase, mark):
    """Spells a phrase, which may end with a full stop or a question mark."""
    places = {id(source): i for i, source in enumerate(phrase.english)}
    source = [one.text if one.text == "'s" else "▁" + one.text for one in phrase.english]
    target, alignment = [], []
    for text, sources in contracted(phrase.french):
        for token in tokens_of(text):
            target.append(token[1:] if target and target[-1].endswith("'") and token.startswith("▁") else token)
            alignment.append(sorted(places[id(one)] for one in sources))
    if mark:
        source.append(mark)
        target.append("." if mark == "." else "▁?")
        alignment.append([len(source) - 1])
    agreements = [(one.role, i, places[id(one.noun)]) for i, one in enumerate(phrase.english) if one.noun]
    return Pair(source, target, alignment, agreements)


def text_of(tokens):
    return "".join(tokens).replace("▁", " ").strip()
