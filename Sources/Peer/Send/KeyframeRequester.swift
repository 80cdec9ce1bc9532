/// Who needs a keyframe of what we send.
public enum KeyframeRequester: Hashable, Sendable {
    /// The peer, whose decoder cannot go on (RFC 4585 §6.3.1, RFC 5104 §4.3.1).
    case peer
    /// Our own sender: it begins, changes to the frames of another encoder, or has dropped frames that came too late.
    case sender
}
