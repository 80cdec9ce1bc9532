import Testing

@testable import Settings

@Suite struct YAMLNodeTests {
    /// A node as one line: texts in quotes where they were.
    private func shown(_ node: YAMLNode?) -> String {
        guard let node else { return "none" }
        switch node.content {
        case .scalar(let text, let style): return style == .quoted ? "'\(text)'" : style == .block ? "|\(text)" : text
        case .sequence(let items): return "[" + items.map { shown($0) }.joined(separator: ",") + "]"
        case .mapping(let members):
            return "{" + members.map { shown($0.key) + ":" + shown($0.value) }.joined(separator: ",") + "}"
        }
    }

    @Test(arguments: [
        ("", "none"), ("# only a comment\n", "none"), ("a: 1\nb:\n  - x\n  - 'y'\n", "{a:1,b:[x,'y']}"),
        ("{a: {b: [c, \"d\"]}}", "{a:{b:[c,'d']}}"), ("a:\nb: ~", "{a:,b:~}"), ("a: |\n  x\n  y\n", "{a:|x\ny\n}"),
        ("a: &k {x: 1}\nb: *k", "{a:{x:1},b:{x:1}}"), ("--- text\n...\n", "text"), ("\u{FEFF}a: ü", "{a:ü}"),
        ("a: 8080 # port", "{a:8080}"),
    ])
    func `values come as they are written`(text: String, node: String) throws {
        #expect(shown(try YAMLNode.parse(text)) == node)
    }

    @Test func `a value knows its line, and whether it is one`() throws {
        let root = try #require(try YAMLNode.parse("a:\n\n  b: null\n  c: 'null'\n  d:\n"))
        guard case .mapping(let members) = root.content, case .mapping(let inner) = members[0].value.content else {
            Issue.record("no mapping")
            return
        }
        #expect(inner.map(\.key.line) == [3, 4, 5])
        #expect(inner.map(\.value.isNull) == [true, false, true])
    }

    @Test(arguments: [
        "a: [", "a: {", "a: 'x", "a: b: c", "a:\n\t- x", "*k", "a: 1\na: 2", "--- a\n--- b\n", "a: \"\\q\"", "%TAG x",
        "]", "\u{0}",
        "a: &k [*k]", String(repeating: "[", count: 10_000), String(repeating: "- ", count: 10_000),
        String(repeating: "{a: ", count: 70) + "1" + String(repeating: "}", count: 70),
    ])
    func `what is no YAML, or too deep, is a fault with its place`(text: String) {
        let fault = #expect(throws: YAMLNode.Fault.self) { try YAMLNode.parse(text) }
        #expect(fault.map { $0.line >= 1 && $0.column >= 1 && !$0.what.isEmpty } == true)
    }

    /// Nine lines that name 10⁹ values.
    @Test func `aliases do not multiply`() {
        var text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
        for level in 1...9 {
            text +=
                "a\(level): &a\(level) [" + Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ",") + "]\n"
        }
        #expect(throws: YAMLNode.Fault.self) { try YAMLNode.parse(text) }
    }
}
