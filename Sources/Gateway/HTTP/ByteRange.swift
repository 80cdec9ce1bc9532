/// What part of a file a request wants (RFC 9110 §14).
enum ByteRange: Equatable, Sendable {
    /// All of it: no range was asked, or one that may be ignored (several at once, another unit, nonsense).
    case whole
    case part(ClosedRange<Int>)
    /// Nothing of it exists: 416.
    case unsatisfiable

    init(header: String?, size: Int) {
        guard let header, let equals = header.firstIndex(of: "="), header[..<equals].lowercased() == "bytes" else {
            self = .whole
            return
        }
        let range = header[header.index(after: equals)...].filter { $0 != " " }
        guard !range.contains(","), let dash = range.firstIndex(of: "-") else {
            self = .whole
            return
        }
        let first = range[..<dash]
        let last = range[range.index(after: dash)...]
        func number(_ text: some StringProtocol) -> Int? {
            guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
            // More digits than an Int holds is beyond any file.
            return Int(text) ?? .max
        }
        switch (number(first), number(last)) {
        case (nil, let suffix?) where first.isEmpty:
            self = suffix == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - suffix)...(size - 1))
        case (let start?, nil) where last.isEmpty:
            self = start < size ? .part(start...(size - 1)) : .unsatisfiable
        case (let start?, let end?):
            if start > end {
                self = .whole
            } else {
                self = start < size ? .part(start...min(end, size - 1)) : .unsatisfiable
            }
        default:
            self = .whole
        }
    }
}
