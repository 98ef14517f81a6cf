# SPDX-License-Identifier: Apache-2.0
"""The texts that the tokenizers learn from, and the lines that they are tried on."""

import random
import unicodedata

# The first article of the Universal Declaration of Human Rights, and some code.
CORPUS = """All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience.
Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt. Große Straße!
Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience.
Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y conciencia, ¿no?
Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de consciência.
Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e di coscienza.
Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem i sumieniem.
Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím.
Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek ésszel és lelkiismerettel bírnak.
Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler. İstanbul'da ışık.
Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi. Mọi con người đều được tạo hoá ban cho lý trí.
Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki ja omatunto.
Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью.
Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю, її їжа.
Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. ΟΔΟΣ, λόγος.
Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով։
ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.
כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. שָׁלוֹם עוֹלָם.
يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلًا وضميرًا. السَّلَامُ عَلَيْكُمْ
تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند. ۱۲۳
सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। १२३
সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে।
மனிதப் பிறவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்; அவர்கள் மதிப்பிலும் சமமானவர்கள்.
ప్రతిపత్తిస్వత్వముల విషయమున మానవులెల్లరును జన్మతః స్వతంత్రులును సమానులును నగుదురు.
มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม
មនុស្សទាំងអស់ កើតមកមានសេរីភាព និងសមភាព ក្នុងផ្នែកសេចក្ដីថ្លៃថ្នូរនិងសិទ្ធិ។
人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。
人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心，並應以兄弟關係的精神相對待。
すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。ｶﾀｶﾅ カタカナ
모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았다.
የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው።
ⵉⵎⴷⴰⵏⴻⵏ ᎠᏂᎦᏓ ᚠᚢᚦᚨᚱᚲ 😀 😃 🐈 👍🏽 👨‍👩‍👧‍👦 🏳️‍🌈 ❤️ 🇩🇪🇫🇷 ∑∫√∞ ≤≥ ← → ① ② ½ ¾ x² H₂O
The quick brown fox jumps over the lazy dog, and the dog doesn't care. It's what they've said: "I'm sure we'll see 12 foxes."
def f(x):\n    return [y * 2 for y in range(x) if y % 3 == 0]  # 345 and 6789, 2024-05-01
if (a == b) {\n\t\treturn   "indented";\n    }\n\n\nthe end of the theory then, there, these, those, thousands of thistles."""
SENTENCES = CORPUS.replace("\\n", "\n").replace("\\t", "\t").splitlines(keepends=True)

FIXED = [
    "", " ", "  ", "\n", "\r\n", "\t", " \n ", "\n\n\n", "\r", "\r\n\r\n", "a", " a", "a ", "  a  b   c    ", "a\n",
    "\na", "tab\tand\nline\r\nends\n", "a\r\n\r\nb", "a \n b", "a  \n\n  b", "x\n \n y", "\t\tx", " \t \t",
    "Hello, world!", "Hello,  world !  ", "don't can't I'm you're they've she'll he'd it's",
    "IT'S DON'T YOU'RE I'LL HE'D THEY'VE I'M", "'s 't're've", "''s", "o'clock's", "’s it’s", "ſ's 'ſ", "0", "12", "123",
    "1234", "1234567890", "3.14159", "1,000,000.00", "a1b2c3", "x²+y³=½", "Ⅷ ٣٤٥ ३४५ ①②", "12٣४5",
    "foo_bar __init__ a-b-c (x) [y] {z} <w> \"q\" `t` ~!@#$%^&*()_+|\\", "https://example.org/a?b=c&d=e#f",
    "C++20 & C#", "$5 €6 £7 ¥8 ₹9", "¿qué? ¡sí! «oui» „ja“ …", "``quoted'' text", "'' ``",
    "naïve café résumé ÀÉÎÕÜ ß ẞ œ Æ ø", "nai\u0308ve cafe\u0301 re\u0301sume\u0301",
    "e\u0301\u0323 \u1EB9\u0301 q\u0323\u0307 q\u0307\u0323", "Å \u212B A\u030A", "ﬁ ﬂ ﬃ ① ㎏ ｆｕｌｌ", "Ａ\u0301ｂ",
    "ｶ\uFF9E ﾊ\uFF9F が か\u3099", "İI ıi ǅ ẞ", "ΟΔΟΣ Σ ς", "\u1112\u1161\u11AB\u1100\u1173\u11AF", "각\u11A8 ᄀ가",
    "\u00BD\u0301 ½\u0308 ª\u0301 \u2122\u0301 \u01C6\u030C", "\u2126\u0301 \u1F71\u0301 \u0958\u093C \u0344\u0301",
    "🐈", "🐈🐈", "a🐈b", "👨‍👩‍👧‍👦 family", "🏳️‍🌈 👍🏽 🇩🇪🇫🇷🇬", "1️⃣ #️⃣", "emoji 😀 in 😃 text", "☃️ ❤️ ❤", "👁️‍🗨️",
    "𝒜𝓁𝑔𝑒𝒷𝓇𝒶 𝟘𝟙", "𠮷野家 𪚥 丽", "zero\u200Bwidth\u200Cjoin\u200Der", "soft\u00ADhyphen",
    "nbsp\u00A0here\u2003em\u3000wide\u202Fthin\u205F", "\u0000", "a\u0000b", "\u0000null\u0007bell\u001B\u007F",
    "\u0080\u0085\u009F", "\u2028line\u2029para", "\uFFFD", "a\uFFFDb\uFFFD\uFFFD", "\u202Ertl\u202C", "\uFEFFbom",
    "a\uFEFFb", "\u180E\u1680ogham", "\uE000private\uF8FF \U000F0000 \U0010FFFD", "\u0378unassigned\u0530 \U000E0080",
    "\uFDD0\uFFFE\uFFFF \U0001FFFE", "\U000E0001\U000E0041tag", "\u0301", "\u0301\u0301a", " \u0301", "a \u0301b",
    "\u200D", "x\u200D\u0301y", "a" * 100, "a" * 101, "a" * 300, "ab" * 150, "the" * 100, " " * 2, " " * 3, " " * 4,
    " " * 7, " " * 8, " " * 31, " " * 33, " " * 200, "\n" * 40, "\t" * 20, "  " + "\n" * 3 + "  ", "x" * 250 + " y",
    "\u0301" * 50, "e" + "\u0301\u0316" * 30, "é" * 101, "世" * 50, "!" * 60, "1" * 50, "-" * 40,
    "function f(x) {\n    return x * 2;\n}\n", "SELECT * FROM t WHERE a='b';--", "<b>&amp;</b>", "{{x}} ${y}",
    "a\\b\\n", "1)2]3}", "\u2581", "\u2581\u2581", "\u2581a", "a\u2581b", " \u2581 ", "<0x41>", "<0xE2>", "\u0120",
    "Ġthe", "##ing", "a##b", "</w>", "a</w>", "Ċ", "âĢ", "<s>", "</s>", "<s></s>", "a <s> b", "a<s>b</s> c", "<unk>x",
    "<unk> <pad>", "[CLS] a [SEP]", "[MASK]", "a[MASK]b", "  [MASK]  x", "[mask]", "<|endoftext|>",
    "one<|endoftext|>two", "one <|endoftext|> two\n", "<|end", "<|endoftext", "<|endoftext|><|endoftext|>",
    "<|ENDOFTEXT|>", "<|begin_of_text|> a <|eot_id|>", "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>",
    "a <mask> b", "<mask>", "a  <mask>  b", "\n<mask>\n", "<|im_start|>user\nHi<|im_end|>\n",
    "<think>\nHm.\n</think>\n\nYes", "<|user|>\nHi<|end|>\n<|assistant|>  Yes", "[INST] Hi [/INST] Yes</s>",
    "<start_of_turn>user\nHi<end_of_turn>\n", "a<extra_id_0>b <extra_id_1> c", "<extra_id_0>", "<bos><eos>", "▁<s>",
    "cat concat cat, cats cat", "day Day DAY day's", "a day", "  day  ", "xdayx", "caté cat", "_cat cat_ 1cat cat1",
    "newline\n\nday\n", "ÉTÉ été e\u0301te\u0301", "ﬁn", "fin",
]

# Bytes that no UTF-8 has: bytes alone, forms that are too long, surrogates, code points above U+10FFFF, characters cut short.
BROKEN = [bytes.fromhex(digits) for digits in (
    "ff", "61806280", "c3", "c328", "e282", "e28241", "f09f90", "f09f9041", "eda080", "edb080eda080", "c0af", "e080af",
    "f08080af", "f4908080", "f580", "f8888080af", "61f09fc3a9", "e28080e280", "20ff20", "68656cff6f20776f726cc3",
    "fefe", "c3a9c3", "f0", "f1808061", "e1a0c0", "edbfbf61", "00ff00", "3c733eff3c2f733e", "efbbbfff",
    "f09f9088f09f90")]


def _stable(code):
    """Returns true when the character's category is that of Unicode 3.2 still, so that libraries of every age agree on it."""
    c = chr(code)
    then = unicodedata.ucd_3_2_0.category(c)
    return then not in ("Cn", "Cs", "Co") and then == unicodedata.category(c)


def _characters():
    """Every such character, with a sample of the ideographs and Hangul syllables."""
    dense = [(0x3400, 0x4DB6), (0x4E00, 0x9FFF), (0xAC00, 0xD7A4), (0x20000, 0x2A6D7)]
    for code in range(0x110000):
        sampled = any(first <= code < last for first, last in dense)
        if _stable(code) and not (sampled and code % 101):
            yield chr(code)


class _Draw:
    """Python promises that `random()` gives the same numbers in every version."""

    def __init__(self, seed):
        self.next = random.Random(seed).random

    def below(self, count):
        return int(self.next() * count)

    def one_of(self, things):
        return things[self.below(len(things))]


def _mixed(count):
    draw = _Draw(20260301)
    words = [word for sentence in SENTENCES for word in sentence.replace(" ", " \0").split("\0") if word]
    short = [text for text in FIXED if 0 < len(text) < 30]
    letters = list("  \n\tabcdeABC'012.,;!?-_()éß\u0301\u0323жЖλ世界のか가각مرनि🐈👍\u200D\uFE0F▁\r\u00A0\u3000\u0000\uFFFD")
    everything = list(_characters())

    def part():
        kind = draw.next()
        if kind < 0.45:
            return draw.one_of(words)
        if kind < 0.6:
            return draw.one_of(short)
        alphabet = letters if kind < 0.85 else everything
        return "".join(draw.one_of(alphabet) for _ in range(1 + draw.below(6)))

    return ["".join(part() for _ in range(1 + draw.below(9))) for _ in range(count)]


def lines():
    """The lines, and for those that stand for broken UTF-8 their bytes: [(text, bytes or None)]."""
    every, size = list(_characters()), 16
    runs = ["".join(every[at:at + size]) for at in range(0, len(every), size)]
    # The marks behind a letter, one at a time, and every character between letters.
    marks = [c for c in every if unicodedata.category(c).startswith("M")]
    clusters = [" ".join(base + mark for mark in marks[at:at + 12])
                for at in range(0, len(marks), 12) for base in ("e", "ﬁ", "½")]
    split = [sentence[:at] for at, sentence in enumerate(SENTENCES, 5)]
    texts = [*FIXED, *(s.rstrip("\n") for s in SENTENCES), *split, *_mixed(1500), *clusters, *runs]
    return [(text, None) for text in texts] + [(b.decode("utf-8", "replace"), b) for b in BROKEN]
