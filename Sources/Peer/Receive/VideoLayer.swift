/// One video SSRC: a simulcast layer, or the whole video of a sender without layers.
///
/// A class, so that table look-ups return references: a buffer is large to copy.
final class VideoLayer {
    /// The index of the section's RID, in the offered order; nil without simulcast.
    let rid: Int?
    var buffer: VideoReceiveBuffer
    /// The height of the newest frame of known size; 0 before.
    var height = 0
    /// The payload type of the newest packet: feedback is negotiated per payload type.
    var payloadType: UInt8?
    /// The number of the next full intra request; each new request has another (RFC 5104 §4.3.1.1).
    private var intraRequestNumber: UInt8 = 0

    init(rid: Int?, buffer: VideoReceiveBuffer) {
        self.rid = rid
        self.buffer = buffer
    }

    /// Makes a keyframe request of the negotiated kind: PLI, else FIR. A peer that negotiated neither gets a PLI all
    /// the same: it may ignore it (RFC 4585 §6.1), but many do not, and without it the picture might never begin.
    func makeKeyframeRequest(_ feedback: CodecFeedback, senderSSRC: SSRC, mediaSSRC: SSRC) -> RTCPPacket {
        guard feedback.contains(.fir), !feedback.contains(.pli) else {
            return .pictureLoss(PictureLossIndication(senderSSRC: senderSSRC, mediaSSRC: mediaSSRC))
        }
        defer { intraRequestNumber &+= 1 }
        return .fullIntraRequest(
            FullIntraRequest(senderSSRC: senderSSRC, entries: [.init(ssrc: mediaSSRC, sequence: intraRequestNumber)]))
    }
}
