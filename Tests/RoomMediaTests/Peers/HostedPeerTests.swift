import Basics
import Peer
import Testing

@testable import RoomMedia

@Suite("HostedPeer")
struct HostedPeerTests {
    @Test("an overload leaves the top rung to peers that share the recording's frames")
    func ceiling() {
        let plain = VideoSendFormat(codec: .h264, profileLevelID: "42e01f")
        #expect(HostedPeer.sharesRecording(isRecorded: true, view: .room, format: plain))
        #expect(!HostedPeer.sharesRecording(isRecorded: false, view: .room, format: plain))
        #expect(
            !HostedPeer.sharesRecording(
                isRecorded: true, view: .personal(.init(layout: "grid", pins: ["a"])), format: plain))
        #expect(!HostedPeer.sharesRecording(isRecorded: true, view: .room, format: VideoSendFormat(codec: .vp8)))
        let single = VideoSendFormat(codec: .h264, packetizationMode: 0)
        #expect(!HostedPeer.sharesRecording(isRecorded: true, view: .room, format: single))
        #expect(!HostedPeer.sharesRecording(isRecorded: true, view: .room, format: nil))
    }
}
