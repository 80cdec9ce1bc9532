import Basics
import Testing

@Suite("Parts of a text") struct TextPartsTests {
    @Test(
        "Parts are without empty ones, and the last of too many holds the rest",
        arguments: [
            ("a b  c", .max, ["a", "b", "c"]), (" a b c", 2, ["a", "b c"]), ("", 3, []), ("   ", 3, []),
            ("a ", 9, ["a"]),
        ]
            as [(String, Int, [String])])
    func parts(text: String, maximum: Int, parts: [String]) {
        #expect(text.parts(maximum: maximum).map(String.init) == parts)
    }

    @Test("A text is divided at the first separator only")
    func divided() {
        let parts = "a=b=c".divided(at: "=")
        #expect(parts?.head == "a" && parts?.tail == "b=c")
        #expect("abc".divided(at: "=") == nil)
        let word = "  one  two three".firstWord()
        #expect(word?.word == "one" && word?.rest == "two three")
        #expect(" ".firstWord() == nil)
    }

    @Test("Spaces and tabs at the ends are removed, and only the case of ASCII letters is ignored")
    func comparison() {
        #expect(" \ta b\t".trimmingSpaces() == "a b")
        #expect("OpUS".equals(lowercase: "opus") && !"opu".equals(lowercase: "opus") && !"É".equals(lowercase: "é"))
    }
}
