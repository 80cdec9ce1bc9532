/// The reason of the last change of a participant's rung.
package struct LinkReason: Hashable, Sendable {
    /// The reason for programs. The raw values are sent to clients.
    package enum Code: String, Sendable, CaseIterable {
        /// The rung never changed.
        case none = ""
        /// The server is overloaded and makes no larger picture.
        case serverBusy = "server_busy"
        /// The link does not carry the previous rung …
        case linkWorse = "line_worse"
        /// … or carries a better one.
        case linkBetter = "line_better"
    }

    package var code: Code
    /// The reason for people; empty: the rung never changed.
    package var sentence: String

    package init(_ code: Code, _ sentence: String) {
        self.code = code
        self.sentence = sentence
    }

    package static let none = LinkReason(.none, "")
}
