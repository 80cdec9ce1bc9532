import Basics

/// A position in a text file; line and column start at 1, and columns count Unicode scalars, not bytes.
struct TextPosition: Hashable, Sendable {
    var line = 1
    var column = 1
}

/// A JSON value with its position, so that a fault that is found later still has a line and a column.
struct JSONValue: Sendable {
    indirect enum Node: Sendable {
        case null
        case bool(Bool)
        case number(Double)
        case string(String)
        case array([JSONValue])
        case object([JSONMember])
    }

    var node: Node
    var position: TextPosition

    /// A description of the value for messages.
    var kind: String {
        switch node {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let value): "the number \(JSONValue.format(value))"
        case .string(let value): "the text \"\(value.prefix(40))\""
        case .array: "a list"
        case .object: "an object"
        }
    }

    /// A number in its short form: `3`, not `3.0`.
    static func format(_ value: Double) -> String {
        if let whole = Int(exactly: value) { return String(whole) }
        return String(value)
    }

    subscript(key: String) -> JSONValue? {
        guard case .object(let members) = node else { return nil }
        return members.first { $0.key == key }?.value
    }
}

/// One `"key": value` of an object.
struct JSONMember: Sendable {
    var key: String
    var position: TextPosition
    var value: JSONValue
}

/// A violation of the JSON syntax.
struct JSONSyntaxError: Error {
    var position: TextPosition
    var what: String
    var mend: String
}

/// A strict parser of RFC 8259: no comments, no trailing commas, no duplicate keys. Any input can be given: depth and
/// size have limits.
struct JSONParser {
    /// The deepest nesting; layouts need 6 levels.
    static let maximumDepth = 32

    private let bytes: [UInt8]
    private var offset = 0
    private var position = TextPosition()

    static func parse(_ bytes: [UInt8]) throws(JSONSyntaxError) -> JSONValue {
        guard bytes.count <= LayoutDocument.maxBytes else {
            throw JSONSyntaxError(
                position: TextPosition(),
                what: "the file has \(bytes.count) bytes, at most \(LayoutDocument.maxBytes) are read",
                mend: "shorten it")
        }
        var parser = JSONParser(bytes)
        if let bad = parser.firstInvalidUTF8() {
            throw JSONSyntaxError(position: bad, what: "a byte that is not UTF-8", mend: "save the file as UTF-8")
        }
        parser.skipSpace()
        let value = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.peek == nil else {
            throw parser.fault("text after the end of the layout", "remove it; a file holds one object")
        }
        return value
    }

    private init(_ bytes: [UInt8]) {
        // A byte order mark is not part of JSON, but Windows editors write one.
        self.bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    private func firstInvalidUTF8() -> TextPosition? {
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        var place = TextPosition()
        while true {
            switch decoder.decode(&iterator) {
            case .scalarValue("\n"): place = TextPosition(line: place.line + 1, column: 1)
            case .scalarValue: place.column += 1
            case .emptyInput: return nil
            case .error: return place
            }
        }
    }

    private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func step() {
        guard offset < bytes.count else { return }
        let byte = bytes[offset]
        offset += 1
        if byte == 0x0A {
            position = TextPosition(line: position.line + 1, column: 1)
        } else if offset >= bytes.count || bytes[offset] & 0xC0 != 0x80 {
            position.column += 1
        }
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { step() }
    }

    private func fault(_ what: String, _ mend: String, at place: TextPosition? = nil) -> JSONSyntaxError {
        JSONSyntaxError(position: place ?? position, what: what, mend: mend)
    }

    /// The text at the cursor, for a message.
    private var here: String {
        guard let byte = peek else { return "the end of the file" }
        let rest = String(decoding: bytes[offset..<min(offset + 8, bytes.count)], as: UTF8.self)
        return byte < 0x20 ? "a control character" : "'\(rest.first ?? "?")'"
    }

    private mutating func value(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        guard depth < Self.maximumDepth else {
            throw fault("nested deeper than \(Self.maximumDepth) levels", "flatten it")
        }
        let start = position
        switch peek {
        case UInt8(ascii: "{"): return JSONValue(node: .object(try object(depth: depth)), position: start)
        case UInt8(ascii: "["): return JSONValue(node: .array(try array(depth: depth)), position: start)
        case UInt8(ascii: "\""): return JSONValue(node: .string(try string()), position: start)
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")):
            return JSONValue(node: .number(try number()), position: start)
        case UInt8(ascii: "/"):
            throw fault("a comment, which JSON does not have", "use the key \"comment\" or remove it")
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
            throw fault("\(here) where a value is expected", "remove the comma before it")
        default:
            throw fault(
                "\(here) where a value is expected", "write a value: text in \"quotes\", a number, true, false, [ or {")
        }
    }

    private mutating func word(_ text: StaticString, _ node: JSONValue.Node) throws(JSONSyntaxError) -> JSONValue {
        let start = position
        for index in 0..<text.utf8CodeUnitCount {
            guard peek == text.utf8Start[index] else {
                throw fault("an unknown word", "write true, false or null, or put text in \"quotes\"", at: start)
            }
            step()
        }
        return JSONValue(node: node, position: start)
    }

    private mutating func number() throws(JSONSyntaxError) -> Double {
        let start = position
        let first = offset
        func isDigit(_ byte: UInt8?) -> Bool { byte.map { (0x30...0x39).contains($0) } ?? false }
        if peek == UInt8(ascii: "-") { step() }
        if peek == UInt8(ascii: "0") {
            step()
            if isDigit(peek) { throw fault("a number with a leading zero", "remove the zero", at: start) }
        } else {
            guard isDigit(peek) else {
                throw fault("a number without digits", "write digits after the sign", at: start)
            }
            while isDigit(peek) { step() }
        }
        if peek == UInt8(ascii: ".") {
            step()
            guard isDigit(peek) else {
                throw fault("a number that ends with a point", "write a digit after the point", at: start)
            }
            while isDigit(peek) { step() }
        }
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            step()
            if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { step() }
            guard isDigit(peek) else {
                throw fault("a number with an empty exponent", "write digits after the e", at: start)
            }
            while isDigit(peek) { step() }
        }
        let text = String(decoding: bytes[first..<offset], as: UTF8.self)
        guard let value = Double(text), value.isFinite else {
            throw fault("the number \(text.prefix(40)), which is too large", "write a smaller one", at: start)
        }
        return value
    }

    private mutating func string() throws(JSONSyntaxError) -> String {
        let start = position
        step()
        var out: [UInt8] = []
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "\""):
                step()
                return String(decoding: out, as: UTF8.self)
            case UInt8(ascii: "\\"):
                out.append(contentsOf: try escape())
            case 0..<0x20:
                throw fault("a line break or control character inside a text", "close the text with \" on its own line")
            default:
                out.append(byte)
                step()
            }
        }
        throw fault("a text that is never closed", "add the closing \"", at: start)
    }

    private mutating func escape() throws(JSONSyntaxError) -> String.UTF8View {
        let start = position
        step()
        guard let byte = peek else { throw fault("an unfinished escape", "complete it", at: start) }
        step()
        switch byte {
        case UInt8(ascii: "\""): return "\"".utf8
        case UInt8(ascii: "\\"): return "\\".utf8
        case UInt8(ascii: "/"): return "/".utf8
        case UInt8(ascii: "b"): return "\u{8}".utf8
        case UInt8(ascii: "f"): return "\u{C}".utf8
        case UInt8(ascii: "n"): return "\n".utf8
        case UInt8(ascii: "r"): return "\r".utf8
        case UInt8(ascii: "t"): return "\t".utf8
        case UInt8(ascii: "u"):
            var code = try hexadecimal(start)
            if (0xD800..<0xDC00).contains(code), peek == UInt8(ascii: "\\") {
                step()
                guard peek == UInt8(ascii: "u") else {
                    throw fault("half of a surrogate pair", "write both halves", at: start)
                }
                step()
                let low = try hexadecimal(start)
                guard (0xDC00..<0xE000).contains(low) else {
                    throw fault("half of a surrogate pair", "write both halves", at: start)
                }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else {
                throw fault("half of a surrogate pair", "write both halves", at: start)
            }
            return String(scalar).utf8
        default: throw fault("an unknown escape", "write \\\\ for a backslash", at: start)
        }
    }

    private mutating func hexadecimal(_ start: TextPosition) throws(JSONSyntaxError) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = Hexadecimal.value(of: byte) else {
                throw fault("an escape \\u without four hexadecimal digits", "write four of them", at: start)
            }
            code = code << 4 | UInt32(digit)
            step()
        }
        return code
    }

    private mutating func array(depth: Int) throws(JSONSyntaxError) -> [JSONValue] {
        let start = position
        step()
        skipSpace()
        var values: [JSONValue] = []
        if peek == UInt8(ascii: "]") {
            step()
            return values
        }
        while true {
            skipSpace()
            values.append(try value(depth: depth + 1))
            skipSpace()
            switch peek {
            case UInt8(ascii: ","): step()
            case UInt8(ascii: "]"):
                step()
                return values
            case nil: throw fault("a list that is never closed", "add the closing ]", at: start)
            default: throw fault("\(here) inside a list", "put a comma between the values, or close the list with ]")
            }
        }
    }

    private mutating func object(depth: Int) throws(JSONSyntaxError) -> [JSONMember] {
        let start = position
        step()
        skipSpace()
        var members: [JSONMember] = []
        var known: Set<String> = []
        if peek == UInt8(ascii: "}") {
            step()
            return members
        }
        while true {
            skipSpace()
            let place = position
            guard peek == UInt8(ascii: "\"") else {
                if peek == UInt8(ascii: "}") { throw fault("a comma after the last entry", "remove the comma") }
                if peek == nil { throw fault("an object that is never closed", "add the closing }", at: start) }
                throw fault("\(here) where a key is expected", "write a key in \"quotes\"")
            }
            let key = try string()
            guard known.insert(key).inserted else {
                throw fault("the key \"\(key)\" a second time", "keep one of the two", at: place)
            }
            skipSpace()
            guard peek == UInt8(ascii: ":") else {
                throw fault("\(here) after the key \"\(key)\"", "put a colon between key and value")
            }
            step()
            skipSpace()
            members.append(JSONMember(key: key, position: place, value: try value(depth: depth + 1)))
            skipSpace()
            switch peek {
            case UInt8(ascii: ","): step()
            case UInt8(ascii: "}"):
                step()
                return members
            case nil: throw fault("an object that is never closed", "add the closing }", at: start)
            default:
                throw fault("\(here) inside an object", "put a comma between the entries, or close the object with }")
            }
        }
    }
}
