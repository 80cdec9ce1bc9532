/// Why a session description cannot be used: a sentence that its sender can act on.
public struct SDPError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What programs compare.
    public enum Code: String, Sendable {
        /// The text is not SDP, or is no WebRTC session.
        case malformed = "bad_sdp"
        /// Nothing that both ends can encode and decode.
        case noCommonCodec = "no_common_codec"
    }

    /// What kind of fault it is.
    public var code: Code
    /// The line of the description, counted from 1, where one line is to blame.
    public var line: Int?
    /// What is wrong and how to mend it.
    public var message: String

    /// An error with a sentence that tells how to mend it.
    public init(_ message: String, code: Code = .malformed, line: Int? = nil) {
        self.code = code
        self.line = line
        self.message = message
    }

    public var description: String { line.map { "Line \($0): \(message)" } ?? message }
}
