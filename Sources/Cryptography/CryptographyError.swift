import COpenSSL

/// An OpenSSL call failed: which operation, and OpenSSL's reasons.
package struct CryptographyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The operation that failed.
    package let operation: String
    /// OpenSSL's reasons, oldest first. May be empty.
    package let reasons: [String]

    package var description: String {
        reasons.isEmpty ? "\(operation) failed" : "\(operation) failed: \(reasons.joined(separator: "; "))"
    }

    /// Empties this thread's error queue into the error.
    init(_ operation: String) {
        self.operation = operation
        reasons = CryptographyError.takeReasons()
    }

    /// Empties this thread's error queue, so that old entries do not turn a later success into a failure. Returns its
    /// reasons, oldest first.
    package static func takeReasons() -> [String] {
        var reasons: [String] = []
        while true {
            let code = ERR_get_error()
            guard code != 0 else { return reasons }
            reasons.append(ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)")
        }
    }
}
