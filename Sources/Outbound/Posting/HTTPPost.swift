/// A request of the server itself, to a URL of its settings.
package struct HTTPPost: Sendable {
    var url: String
    var headers: [(name: String, value: String)]
    var body: [UInt8]
    var timeout: Duration
}

/// How a request ended.
package enum PostAnswer: Sendable, Equatable {
    case status(Int, retryAfter: Duration? = nil)
    /// No answer came, for the reason.
    case failure(String)
}

/// Sends requests: by HTTP, or a test's fake.
package protocol HTTPPoster: Sendable {
    /// Returns the answer within the timeout.
    func post(_ request: HTTPPost) async -> PostAnswer
    func shutdown() async
}
