import AnsweringPeer
import Basics
import Peer

/// Answers the offer on standard input and sends back the received audio and video without transcoding.
///
///     echo-peer [ADDRESS] < offer.sdp > answer.sdp
@main enum EchoPeer {
    static func main() {
        Invocation.run {
            try AnsweringPeer.serve(
                offer: Invocation.offer(), at: Invocation.address(), handler: Echo(), answered: Invocation.tell)
        }
    }
}

/// Sends each packet and frame back on the connection that received it.
final class Echo: PeerHandler {
    /// The offset from the other end's media clocks to this end's, in ticks: chosen once, so that intervals are
    /// preserved.
    private var audioOffset: Int64?
    private var videoOffset: Int64?

    func handle(_ event: PeerEvent, of connection: PeerConnection, at now: Instant) {
        switch event {
        // A copy (RFC 2198) repeats a packet that was received already, or that is too late to be sent in order.
        case .audio(let packet) where !packet.isCopy:
            let offset = audioOffset ?? packet.captureTime.ticks(at: 48_000) &- packet.timestamp
            audioOffset = offset
            connection.send(
                audio: packet.payload, timestamp: packet.timestamp &+ offset, marker: packet.marker,
                level: packet.level, at: now)
        case .video(let received):
            var frame = received.frame
            let offset = videoOffset ?? received.captureTime.ticks(at: 90_000) &- frame.timestamp
            videoOffset = offset
            frame.timestamp &+= offset
            let format = connection.videoSendFormats.first { $0.codec == frame.codec }
            connection.send(PacketizedVideoFrame(frame, packetizationMode: format?.packetizationMode ?? 1), at: now)
        // Only the other end's encoder can make a keyframe.
        case .keyframeRequested: connection.requestKeyframe(at: now)
        case .connected: Invocation.note("connected")
        case .closed: Invocation.note("the other end closed the connection")
        case .failed(let reason), .overBudget(let reason): Invocation.note(reason)
        default: break
        }
    }
}
