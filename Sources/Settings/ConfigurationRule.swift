import Basics

/// A setting as written, before its rule is applied.
enum RawSetting: Sendable, Equatable {
    /// `quoted`: in quotes in YAML, so that it is text, even if it looks like another type.
    case scalar(String, quoted: Bool)
    case list([RawSetting])
    case map([Entry])
    /// A `key:` without a value: the setting stays unchanged.
    case null

    struct Entry: Sendable, Equatable {
        var key: String
        var value: RawSetting
    }

    /// A short form on one line, for the message of a fault.
    var text: String {
        let whole =
            switch self {
            case .scalar(let text, let quoted): quoted ? "\"\(text)\"" : text
            case .list(let items): "[" + items.map(\.text).joined(separator: ", ") + "]"
            case .map(let entries): "{" + entries.map { "\($0.key): \($0.value.text)" }.joined(separator: ", ") + "}"
            case .null: "nothing"
            }
        let line = whole.split(whereSeparator: \.isNewline).joined(separator: " ")
        return line.count > 80 ? line.prefix(77) + "…" : line
    }
}

/// The rule of a setting: reads a value, and describes the allowed values for faults.
struct ConfigurationRule<Value: Sendable>: Sendable {
    /// The allowed values, as the rest of a fault's "allowed is …".
    let allowed: String
    /// Accepts a comma-separated line from the environment.
    var isList = false
    /// The fault of a value in words; nil: that it is not allowed.
    var explain: @Sendable (RawSetting) -> String? = { _ in nil }
    let read: @Sendable (RawSetting) -> Value?
}

extension ConfigurationRule where Value == Bool {
    static let bool = ConfigurationRule(allowed: "true or false") { raw in
        guard case .scalar(let text, false) = raw else { return nil }
        switch text.lowercased() {
        case "true", "yes", "on": return true
        case "false", "no", "off": return false
        default: return nil
        }
    }
}

extension ConfigurationRule where Value == Int {
    static func integer(_ range: ClosedRange<Int>, even: Bool = false) -> Self {
        ConfigurationRule(
            allowed: "\(even ? "an even" : "a whole") number from \(range.lowerBound) to \(range.upperBound)"
        ) { raw in
            guard case .scalar(let text, false) = raw, let value = Int(text), range.contains(value),
                !even || value % 2 == 0
            else {
                return nil
            }
            return value
        }
    }
}

extension ConfigurationRule where Value == String {
    static func text(_ allowed: String, where isAllowed: @escaping @Sendable (String) -> Bool = { _ in true }) -> Self {
        ConfigurationRule(allowed: allowed) { raw in
            guard case .scalar(let text, _) = raw, isAllowed(text) else { return nil }
            return text
        }
    }
}

extension ConfigurationRule where Value == Duration {
    /// `500ms`, `10s`, `2m`, `24h`; a bare 0 needs no unit.
    static func duration(_ range: ClosedRange<Duration>, orZero: Bool = false, _ words: String) -> Self {
        ConfigurationRule(allowed: "a duration such as 500ms, 10s, 5m or 24h, \(words)") { raw in
            guard case .scalar(let text, _) = raw, let value = Duration(setting: text) else { return nil }
            return range.contains(value) || orZero && value == .zero ? value : nil
        }
    }
}

extension ConfigurationRule where Value == BitRate {
    /// `800k`, `1.5M`, or bits per second without a unit.
    static func bitRate(_ range: ClosedRange<BitRate>) -> Self {
        ConfigurationRule(allowed: "a bit rate such as 800k or 1.5M, from \(range.lowerBound) to \(range.upperBound)") {
            raw in
            guard case .scalar(let text, _) = raw, let value = BitRate(setting: text), range.contains(value) else {
                return nil
            }
            return value
        }
    }
}

extension ConfigurationRule where Value == Int {
    /// `500MiB`, `1GiB`, `2G`, or bytes without a unit.
    static func byteCount(_ range: ClosedRange<Int>) -> Self {
        ConfigurationRule(allowed: "a size such as 500MiB or 1GiB, at most \(range.upperBound >> 40)TiB") { raw in
            guard case .scalar(let text, _) = raw, let value = bytes(setting: text), range.contains(value) else {
                return nil
            }
            return value
        }
    }
}

extension ConfigurationRule where Value == Double {
    static func fraction(_ range: ClosedRange<Double>) -> Self {
        ConfigurationRule(allowed: "a number from \(range.lowerBound) to \(range.upperBound)") { raw in
            guard case .scalar(let text, false) = raw, let value = decimal(text[...]), range.contains(value) else {
                return nil
            }
            return value
        }
    }
}

extension ConfigurationRule where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of a few words.
    static var choice: Self {
        let words = Value.allCases.map(\.rawValue)
        let allowed =
            words.count == 1 ? words[0] : words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
        return ConfigurationRule(allowed: allowed) { raw in
            guard case .scalar(let text, _) = raw else { return nil }
            return Value(rawValue: text)
        }
    }
}

extension ConfigurationRule {
    /// A list of items of a rule; a single value counts as a list of one.
    static func list<Item>(of item: ConfigurationRule<Item>, _ allowed: String, count: ClosedRange<Int>) -> Self
    where Value == [Item] {
        ConfigurationRule(allowed: allowed, isList: true) { raw in
            let items: [RawSetting]
            if case .list(let list) = raw { items = list } else { items = [raw] }
            let values = items.compactMap { item.read($0) }
            return values.count == items.count && count.contains(values.count) ? values : nil
        }
    }

    /// Allows also the empty text, which stands for `none`.
    static func orNone(_ rule: ConfigurationRule<Value>, _ none: Value) -> Self {
        ConfigurationRule(allowed: rule.allowed + ", or \"\" for none") { raw in
            if case .scalar("", _) = raw { return none }
            return rule.read(raw)
        }
    }

    /// Allows also the empty text, which leaves the choice to the server.
    static func optional<Wrapped>(_ rule: ConfigurationRule<Wrapped>) -> Self where Value == Wrapped? {
        ConfigurationRule(allowed: rule.allowed + ", or \"\" for the server's own choice") { raw in
            if case .scalar("", _) = raw { return .some(nil) }
            return rule.read(raw).map { .some($0) }
        }
    }
}

extension Duration {
    /// Reads `250us`, `500ms`, `10s`, `5m`, `24h`, `30d` (a decimal point is allowed) and a bare `0`; nil for anything else.
    package init?(setting text: String) {
        let units: [(String, Double)] = [
            ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9), ("d", 86400e9),
        ]
        if text == "0" {
            self = .zero
            return
        }
        guard let unit = units.first(where: { text.hasSuffix($0.0) }),
            let value = decimal(text.dropLast(unit.0.utf8.count))
        else {
            return nil
        }
        let nanoseconds = (value * unit.1).rounded()
        guard nanoseconds < 9e18 else { return nil }
        self = .nanoseconds(Int64(nanoseconds))
    }
}

extension BitRate {
    /// Reads `800k`, `1.5M`, `64000`; nil for anything else.
    package init?(setting text: String) {
        let factor: Double =
            switch text.last {
            case "k", "K": 1e3
            case "M": 1e6
            default: 1
            }
        guard let value = decimal(factor == 1 ? text[...] : text.dropLast()), value * factor < 1e15 else { return nil }
        self.init(bitsPerSecond: Int((value * factor).rounded()))
    }
}

/// Reads `1GiB`, `1.5G`, `500MiB`, `100k`, `4096`; nil for anything else. KiB, MiB, GiB and TiB count in 1024, k, M, G
/// and T in 1000.
private func bytes(setting text: String) -> Int? {
    let units: [(String, Double)] = [
        ("TiB", 0x1p40), ("GiB", 0x1p30), ("MiB", 0x1p20), ("KiB", 0x1p10), ("T", 1e12), ("G", 1e9), ("M", 1e6),
        ("k", 1e3), ("", 1),
    ]
    guard let unit = units.first(where: { text.hasSuffix($0.0) }), let value = decimal(text.dropLast(unit.0.utf8.count))
    else { return nil }
    return Int(exactly: (value * unit.1).rounded())
}

/// Digits with at most one point among them; no sign, exponent, infinity or spaces, which `Double(_:)` would accept.
private func decimal(_ text: Substring) -> Double? {
    guard let first = text.utf8.first, (48...57).contains(first), text.utf8.count <= 18,
        text.utf8.allSatisfy({ (48...57).contains($0) || $0 == 46 })
    else { return nil }
    return Double(text)
}
