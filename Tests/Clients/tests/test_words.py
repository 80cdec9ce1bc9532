"""The words of the page: every language has all of them, and none is left in the scripts or in the HTML."""

import json
import re

import pytest

from support.page import WEB

# Those of the page, and those that its dialogs and the other pages add.
FIRST, LATER = ({path.name.split(".")[1]: json.loads(path.read_text()) for path in WEB.glob(f"{name}.*.json")} for name in ("words", "dialogs"))
LANGUAGES = {language: FIRST[language] | LATER[language] for language in FIRST}
SCRIPTS = {path.name: path.read_text() for path in WEB.glob("*.js")}
HTML = "\n".join((WEB / name).read_text() for name in sorted(path.name for path in WEB.glob("*.html")))


def placeholders(text):
    return set(re.findall(r"\{(\w+)\}", text))


@pytest.mark.parametrize("language", sorted(LANGUAGES.keys() - {"en"}))
def test_every_language_has_the_same_words_with_the_same_values(language):
    english, other = LANGUAGES["en"], LANGUAGES[language]
    assert english.keys() == other.keys()
    for key, text in english.items():
        assert other[key].strip(), key
        assert placeholders(text) == placeholders(other[key]), key
    assert f"'./words.{language}.json'" in SCRIPTS["words.js"] and f"'./dialogs.{language}.json'" in SCRIPTS["dialog-words.js"]
    assert not FIRST[language].keys() & LATER[language].keys()


def test_what_a_call_begins_with_has_its_words():
    # What the lobby's and the call's scripts import by themselves.
    first, new = set(), {"start.js", "main.js"}
    while new:
        first |= new
        new = {name for each in new for name in re.findall(r"^(?:import|\} from|import .* from) '/assets/([\w-]+\.js)'", SCRIPTS[each], re.M)} - first
    assert 30 < len(first) < len(SCRIPTS) - 6, first
    for name in first:
        used = set(re.findall(r"\bt\('([\w.]+)'", SCRIPTS[name]))
        assert not used & {re.sub(r"\.(one|other)$", "", key) for key in LATER["en"]}, name


def test_every_word_is_used_and_every_used_one_is_there():
    keys = LANGUAGES["en"].keys()
    in_html = set(re.findall(r'data-t(?:-[a-z-]+)?="([^"]+)"', HTML))
    assert in_html <= keys
    scripts = "\n".join(SCRIPTS.values())
    # t('key'), t(on ? 'one' : 'other'), and t(`prefix.${code}`).
    strings = set(re.findall(r"'([\w.]+)'", scripts))
    prefixes = tuple(re.findall(r"`([\w.]+\.)\$\{", scripts)) + ("problem.",)
    counted = {key.rsplit(".", 1)[0] for key in keys if key.endswith((".one", ".other"))}
    for call in re.findall(r"\bt\('([\w.]+)'", scripts):
        assert call in keys or call in counted, call
    for key in keys:
        plain = key.rsplit(".", 1)[0] if key.endswith((".one", ".other")) else key
        devices = key.startswith(("camera.", "microphone.", "loudspeaker."))
        assert key in in_html or plain in strings or key.startswith(prefixes) or devices, f"nobody uses {key}"


def test_what_is_counted_has_the_words_of_every_number_and_nothing_else_has():
    """`t` looks for KEY.one and KEY.other where it gets a count, and for KEY where it gets none."""
    scripts = "\n".join(SCRIPTS.values())
    calls = re.findall(r"\bt\('([\w.]+)'(?:, \{((?:[^{}]|\{[^{}]*\})*)\})?", scripts)
    assert len(calls) > 100
    for language, words in LANGUAGES.items():
        for key, values in calls:
            is_counted = re.search(r"(^|[\s,{])count\b", values) is not None
            forms = {f"{key}.one", f"{key}.other"} if is_counted else {key}
            assert forms <= words.keys(), (language, key, values)


def test_no_sentence_is_left_in_the_html():
    body = re.sub(r"<noscript>.*?</noscript>|<title>.*?</title>|<svg class=\"icons\".*?</svg>|<!--.*?-->", "", HTML, flags=re.S)
    texts = [text for text in re.findall(r">([^<]+)<", body) if re.search(r"[A-Za-z]{2}", text)]
    assert not texts
    assert not re.findall(r'\s(?:aria-label|title|placeholder|alt)="([^"]*[A-Za-z][^"]*)"', body)


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_no_sentence_is_left_in_the_scripts(name):
    code = "\n".join(re.sub(r"^\s*//.*|\s//\s.*", "", line) for line in SCRIPTS[name].splitlines())
    strings = re.findall(r"'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`", code)
    # Selectors, class names and event lists are lower case throughout; a sentence or a label begins with a capital.
    found = [text for pair in strings for text in pair if re.match(r"[A-ZÄÖÜ][a-zäöü]+( |$|…)", text)]
    assert not [text for text in found if text.split(' $')[0] not in ALLOWED], found


# Names of headers, keys and errors of the browser.
ALLOWED = {"Content-Type", "Authorization", "Escape", "Files", "Bearer", "ArrowLeft", "ArrowRight", "Enter", "Tab", "Home", "End"}
