import Basics

/// The refusal of a request: a code for programs, and a sentence for people.
package struct Refusal: Error, Sendable, Equatable {
    package var code: ErrorCode
    package var message: String
    /// Seconds until another try makes sense; nil where trying again changes nothing.
    package var retryAfter: Int?
    /// The type of the message that was refused, for clients that keep what their user has written.
    package var subject: String?

    package init(_ code: ErrorCode, _ message: String) {
        self.code = code
        self.message = message
    }

    /// A refusal with the time to wait, rounded up to whole seconds, at least one.
    package init(_ code: ErrorCode, _ message: String, retryAfter: Duration) {
        self.init(code, message)
        self.retryAfter = max(1, Int(retryAfter.inSeconds.rounded(.up)))
    }
}

/// An error that has a refusal, in whatever part of the program it was thrown.
package protocol RefusalConvertible: Error {
    var refusal: Refusal { get }
}
