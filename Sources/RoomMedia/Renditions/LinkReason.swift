/// Why a participant's rung changed last.
public struct LinkReason: Hashable, Sendable {
    /// What programs compare. The raw values are what clients are told.
    public enum Code: String, Sendable, CaseIterable {
        /// It never changed.
        case none = ""
        /// The server makes no larger picture: it saves work.
        case serverBusy = "server_busy"
        /// The line does not carry the rung that it had …
        case linkWorse = "line_worse"
        /// … or carries a better one.
        case linkBetter = "line_better"
    }

    public var code: Code
    /// For people; empty: it never changed.
    public var sentence: String

    package init(_ code: Code, _ sentence: String) {
        self.code = code
        self.sentence = sentence
    }

    public static let none = LinkReason(.none, "")
}
