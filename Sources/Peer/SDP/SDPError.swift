/// Why a session description cannot be used: a sentence that its sender can act on.
public struct SDPError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The code that programs compare.
    public enum Code: String, Sendable {
        /// The text is not SDP, or is no WebRTC session.
        case malformed = "bad_sdp"
        /// There is no codec that both ends support.
        case noCommonCodec = "no_common_codec"
    }

    /// The kind of fault.
    public var code: Code
    /// The line of the description, counted from 1, if one line is at fault.
    public var line: Int?
    /// What is wrong and how to correct it.
    public var message: String

    /// Makes an error with a sentence that explains how to correct it.
    public init(_ message: String, code: Code = .malformed, line: Int? = nil) {
        self.code = code
        self.line = line
        self.message = message
    }

    public var description: String { line.map { "Line \($0): \(message)" } ?? message }
}
