/// A chat message for the peers that get chat by a data channel.
package struct ChannelMessage: Sendable {
    /// The largest form, in bytes: what these peers take at most.
    package static let maxBytes = 262_144

    /// The sender, who does not get it.
    package var from: String
    /// The only receiver; nil: everyone.
    package var to: String?
    /// The group whose participants get it; nil: all of them.
    package var group: GroupID?
    /// The label of the channels that have the message already; nil: none.
    package var besides: String?
    /// The forms of the message, the best first. A peer gets the first one that fits into a message of its channel and
    /// into its backlog, as binary.
    package var forms: [[UInt8]]

    package init(from: String, to: String?, group: GroupID? = nil, besides: String?, forms: [[UInt8]]) {
        self.from = from
        self.to = to
        self.group = group
        self.besides = besides
        self.forms = forms
    }
}
