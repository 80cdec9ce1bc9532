import Cryptography

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
        reasons = CryptographyError.takeReasons()
    }

    init(_ error: CryptographyError) {
        operation = error.operation
        reasons = error.reasons
    }
}
