/// Why a sender's frames do not go on as they came, as the metrics label it.
package enum ForwardingFault: String, Sendable, CaseIterable, Error {
    /// An H.264 profile that not every receiver decodes.
    case profile
    /// A picture that is larger than the canvas, or has another shape.
    case size
    /// A picture that is displayed rotated.
    case rotation
    /// NAL units that a stream of the profile does not have, a slice without its parameter sets, or a frame whose
    /// type is not the one that it was announced as.
    case units
    /// More frames a second than the canvas has.
    case frames
    /// More bits than the members' links carry: the sender does not keep what it is asked for.
    case rate
    /// No keyframe came though several were requested.
    case keyframe
    /// A keyframe could not be decoded.
    case decoding
    /// No frame came for longer than a picture stays without being marked as frozen.
    case silence
}
