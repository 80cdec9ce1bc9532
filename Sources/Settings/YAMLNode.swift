import CYAML

/// A value of a YAML document, as written: which type a text is, the setting's rule knows.
struct YAMLNode: Sendable {
    indirect enum Content: Sendable {
        case scalar(String, style: Style)
        case sequence([YAMLNode])
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    /// How a text is written: without quotes, in quotes, or as a block.
    enum Style: Sendable { case plain, quoted, block }

    /// Why a text is no YAML.
    struct Fault: Error, Hashable, CustomStringConvertible {
        var line: Int
        var column: Int
        var what: String

        var description: String { "\(line):\(column): \(what)" }
    }

    var content: Content
    /// From 1 on.
    var line: Int

    /// The text of a scalar.
    var text: String? { if case .scalar(let text, _) = content { text } else { nil } }

    /// `key:` without a value, `~` and `null`.
    var isNull: Bool {
        if case .scalar(let text, .plain) = content { text.isEmpty || text == "~" || text == "null" } else { false }
    }

    /// The first document of a text; nil where there is none.
    ///
    /// - Throws: where the text is no YAML, nests too deep, has more than one document, a key twice in one mapping, or an alias
    ///   of what is not there.
    static func parse(_ text: String) throws(Fault) -> YAMLNode? {
        let events = try YAMLEvents(text)
        var reader = YAMLReader(events: events)
        return try reader.document()
    }
}

/// Builds nodes of libyaml's events.
private struct YAMLReader: ~Copyable {
    /// Deeper than any setting; it bounds the stack.
    private static let maxDepth = 64
    /// Values that aliases may repeat: a few lines of them can name a billion.
    private static let maxNodes = 100_000

    let events: YAMLEvents
    private var anchors: [String: (node: YAMLNode, count: Int)] = [:]
    private var count = 0

    init(events: consuming YAMLEvents) { self.events = events }

    mutating func document() throws(YAMLNode.Fault) -> YAMLNode? {
        var root: YAMLNode?
        while true {
            let event = try events.next()
            switch event.kind {
            case .end: return root
            case .other: continue
            case .scalar, .beginSequence, .beginMapping, .alias:
                guard root == nil else { throw event.fault("only one document is allowed") }
                root = try node(event, depth: 0)
            case .endCollection: throw event.fault("an end without a beginning")
            }
        }
    }

    private mutating func node(_ event: YAMLEvents.Event, depth: Int) throws(YAMLNode.Fault) -> YAMLNode {
        guard depth < Self.maxDepth else { throw event.fault("nested deeper than \(Self.maxDepth) levels") }
        let before = count
        try add(1, event)
        let content: YAMLNode.Content
        switch event.kind {
        case .scalar(let text, let style): content = .scalar(text, style: style)
        case .beginSequence: content = .sequence(try sequence(depth))
        case .beginMapping: content = .mapping(try mapping(depth))
        case .alias:
            guard let known = event.anchor.flatMap({ anchors[$0] }) else { throw event.fault("an unknown alias") }
            try add(known.count, event)
            return YAMLNode(content: known.node.content, line: event.line)
        case .endCollection, .end, .other: throw event.fault("a value is missing")
        }
        let node = YAMLNode(content: content, line: event.line)
        if let anchor = event.anchor { anchors[anchor] = (node, count - before) }
        return node
    }

    private mutating func add(_ more: Int, _ event: YAMLEvents.Event) throws(YAMLNode.Fault) {
        count += more
        guard count <= Self.maxNodes else { throw event.fault("more than \(Self.maxNodes) values") }
    }

    private mutating func sequence(_ depth: Int) throws(YAMLNode.Fault) -> [YAMLNode] {
        var items: [YAMLNode] = []
        while true {
            let event = try events.next()
            if case .endCollection = event.kind { return items }
            items.append(try node(event, depth: depth + 1))
        }
    }

    private mutating func mapping(_ depth: Int) throws(YAMLNode.Fault) -> [(key: YAMLNode, value: YAMLNode)] {
        var members: [(key: YAMLNode, value: YAMLNode)] = []
        var names: Set<String> = []
        while true {
            let event = try events.next()
            if case .endCollection = event.kind { return members }
            let key = try node(event, depth: depth + 1)
            if let name = key.text, !names.insert(name).inserted { throw event.fault("the key \(name) occurs twice") }
            members.append((key, try node(try events.next(), depth: depth + 1)))
        }
    }
}
