import CYAML

/// libyaml's parser over one text: the one owner of `yaml_parser_t`.
struct YAMLEvents: ~Copyable {
    struct Event {
        enum Kind {
            case scalar(String, YAMLNode.Style)
            case beginSequence, beginMapping, endCollection, alias
            /// Of the text.
            case end
            /// Begin and end of a document, begin of the text.
            case other
        }

        var kind: Kind
        var anchor: String?
        var line: Int
        var column: Int

        func fault(_ what: String) -> YAMLNode.Fault { YAMLNode.Fault(line: line, column: column, what: what) }
    }

    private let parser: UnsafeMutablePointer<yaml_parser_t>
    /// libyaml reads from here until `deinit`.
    private let input: UnsafeMutableBufferPointer<UInt8>

    init(_ text: String) throws(YAMLNode.Fault) {
        parser = .allocate(capacity: 1)
        let bytes = Array(text.utf8)
        input = .allocate(capacity: bytes.count)
        _ = input.initialize(from: bytes)
        guard yaml_parser_initialize(parser) == 1 else {
            parser.deallocate()
            input.deallocate()
            throw YAMLNode.Fault(line: 1, column: 1, what: "out of memory")
        }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, input.baseAddress, input.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        input.deallocate()
    }

    func next() throws(YAMLNode.Fault) -> Event {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw fault() }
        defer { yaml_event_delete(&event) }
        let (kind, anchor) = Self.read(event)
        return Event(
            kind: kind, anchor: anchor.map { String(cString: $0) }, line: Int(event.start_mark.line) + 1,
            column: Int(event.start_mark.column) + 1)
    }

    private static func read(_ event: yaml_event_t) -> (Event.Kind, UnsafeMutablePointer<yaml_char_t>?) {
        switch event.type {
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            let style: YAMLNode.Style =
                switch scalar.style {
                case YAML_SINGLE_QUOTED_SCALAR_STYLE, YAML_DOUBLE_QUOTED_SCALAR_STYLE: .quoted
                case YAML_LITERAL_SCALAR_STYLE, YAML_FOLDED_SCALAR_STYLE: .block
                default: .plain
                }
            return (.scalar(text, style), scalar.anchor)
        case YAML_SEQUENCE_START_EVENT: return (.beginSequence, event.data.sequence_start.anchor)
        case YAML_MAPPING_START_EVENT: return (.beginMapping, event.data.mapping_start.anchor)
        case YAML_ALIAS_EVENT: return (.alias, event.data.alias.anchor)
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: return (.endCollection, nil)
        case YAML_STREAM_END_EVENT: return (.end, nil)
        default: return (.other, nil)
        }
    }

    private func fault() -> YAMLNode.Fault {
        let mark = parser.pointee.problem_mark
        let what = [parser.pointee.context, parser.pointee.problem].compactMap { $0.map { String(cString: $0) } }
        return YAMLNode.Fault(
            line: Int(mark.line) + 1, column: Int(mark.column) + 1,
            what: what.isEmpty ? "not readable" : what.joined(separator: ", "))
    }
}
