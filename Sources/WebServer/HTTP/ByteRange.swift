/// The part of a file that a request wants (RFC 9110 §14).
package enum ByteRange: Equatable, Sendable {
    /// The whole file: no range was requested, or one that may be ignored (several at once, another unit, invalid
    /// text).
    case whole
    case part(ClosedRange<Int>)
    /// No byte of the range exists: 416.
    case unsatisfiable

    package init(header: String?, size: Int) {
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
            // A number that does not fit an Int is beyond any file.
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
