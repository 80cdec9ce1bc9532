import COpenSSL

/// OpenSSL refused; says at what, and why in its own words.
public struct DTLSError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was tried.
    public let operation: String
    /// OpenSSL's reasons, the first one first. May be empty.
    public let reasons: [String]

    public var description: String {
        reasons.isEmpty ? "\(operation) failed" : "\(operation) failed: \(reasons.joined(separator: "; "))"
    }

    /// Takes what lies in this thread's error queue, so that it does not turn a later success into a failure.
    init(_ operation: String) {
        self.operation = operation
        var reasons: [String] = []
        while true {
            let code = ERR_get_error()
            guard code != 0 else { break }
            if let text = ERR_reason_error_string(code) {
                reasons.append(String(cString: text))
            } else {
                reasons.append("error \(code)")
            }
        }
        self.reasons = reasons
    }
}
