import COpenSSL

/// An OpenSSL call failed: which operation, and OpenSSL's reasons.
public struct DTLSError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The operation that failed.
    public let operation: String
    /// OpenSSL's reasons, oldest first. May be empty.
    public let reasons: [String]

    public var description: String {
        reasons.isEmpty ? "\(operation) failed" : "\(operation) failed: \(reasons.joined(separator: "; "))"
    }

    /// Empties this thread's error queue, so that old entries do not turn a later success into a failure.
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
