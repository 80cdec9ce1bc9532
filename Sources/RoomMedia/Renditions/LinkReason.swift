/// The reason why a participant's picture is not larger; at the top rung, why it became so.
package struct LinkReason: Hashable, Sendable {
    /// The reason for programs. The raw values are sent to clients.
    package enum Code: String, Sendable, CaseIterable {
        /// The call has just begun, and its picture is getting larger; or it never was another than the largest.
        case none = ""
        /// The server is overloaded and makes no larger picture, which the link would carry.
        case serverBusy = "server_busy"
        /// The link does not carry a larger picture …
        case linkWorse = "line_worse"
        /// … or was just found to carry one: it is there, or follows.
        case linkBetter = "line_better"
    }

    package var code: Code
    /// The reason for people; empty for `none`.
    package var sentence: String

    package init(_ code: Code, _ sentence: String) {
        self.code = code
        self.sentence = sentence
    }

    package static let none = LinkReason(.none, "")
}
