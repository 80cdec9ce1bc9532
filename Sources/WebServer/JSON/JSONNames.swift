import FoundationEssentials

/// The names of an object's members. RFC 7515 §4 and RFC 7519 §4 refuse tokens in which one occurs twice: readers differ
/// in which of the two counts.
package enum JSONNames {
    /// Whether `bytes` are a JSON object whose members have different names.
    package static func areUnique(_ bytes: [UInt8]) -> Bool {
        guard let members = try? JSONDecoder().decode([String: Anything].self, from: Data(bytes)) else { return false }
        return members.count == count(bytes)
    }

    /// Any value, left as it is.
    private struct Anything: Decodable { init(from decoder: any Decoder) {} }

    /// The number of members of the outermost object of valid JSON: the colons in it, outside of texts.
    private static func count(_ bytes: [UInt8]) -> Int {
        var (count, depth, isInText, isEscaped) = (0, 0, false, false)
        for byte in bytes {
            if isInText {
                if !isEscaped, byte == UInt8(ascii: "\"") { isInText = false }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInText = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ":"): if depth == 1 { count += 1 }
            default: break
            }
        }
        return count
    }
}
