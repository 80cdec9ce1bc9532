import Glibc

extension String {
    /// A number with so many digits behind the point: `String(1.25, decimals: 1)` is "1.2".
    ///
    /// - Parameter isSigned: whether a positive number has a `+`.
    package init(_ value: Double, decimals: Int, isSigned: Bool = false) {
        self = printed(value, Int32(clamping: decimals), isSigned ? "%+.*f" : "%.*f")
    }
}

private func printed(_ value: Double, _ decimals: Int32, _ format: String) -> String {
    // The largest number has 309 digits before the point.
    var buffer = [CChar](repeating: 0, count: 400)
    let digits = min(max(0, decimals), 20)
    let count = withVaList([digits, value]) { vsnprintf(&buffer, 400, format, $0) }
    return String(decoding: buffer.prefix(Int(max(0, count))).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
