import Basics
import Testing

@Suite struct PercentEncodingTests {
    @Test(arguments: [
        ("", ""), ("room", "room"), ("K%C3%BCche%207", "Küche 7"), ("a%2Fb", "a/b"), ("%25", "%"), ("a+b", "a+b"),
        ("%e2%82%ac", "€"), ("Küche", "Küche"),
    ])
    func `escapes are bytes of UTF-8`(text: String, decoded: String) {
        #expect(text.percentDecoded == decoded)
    }

    @Test(arguments: ["%", "%2", "a%2", "%zz", "%2g", "%%", "%FF", "%C3", "%C3%28", "% 41", "%+1"])
    func `a broken escape is none`(text: String) {
        #expect(text.percentDecoded == nil)
    }

    @Test func `all but letters, digits and what is kept is escaped`() {
        #expect("aZ09".percentEncoded() == "aZ09")
        #expect("a b/c?d=é%\n".percentEncoded() == "a%20b%2Fc%3Fd%3D%C3%A9%25%0A")
        #expect("a-b._~c".percentEncoded(keeping: "-._") == "a-b._%7Ec")
        #expect("Zoë 😀".percentEncoded().percentDecoded == "Zoë 😀")
    }

    @Test func `white space of any kind is cut off at the ends`() {
        #expect(" \t\n\r\u{A0}\u{2003}\u{2028}a b\u{3000}\u{85} ".trimmingWhitespace() == "a b")
        #expect("".trimmingWhitespace() == "" && " ".trimmingWhitespace() == "" && "a".trimmingWhitespace() == "a")
    }

    @Test func `numbers have their digits`() {
        #expect(String(1.25, decimals: 1) == "1.2" && String(0.0005, decimals: 3) == "0.001")
        #expect(String(-2, decimals: 3) == "-2.000" && String(7.04, decimals: 0) == "7")
        #expect(
            String(1.5, decimals: 1, isSigned: true) == "+1.5" && String(-1.5, decimals: 1, isSigned: true) == "-1.5")
        #expect(String(Double.nan, decimals: 1).hasSuffix("nan") && String(Double.infinity, decimals: 1) == "inf")
        #expect(String(Double.greatestFiniteMagnitude, decimals: .max).utf8.count == 309 + 1 + 20)
    }
}
