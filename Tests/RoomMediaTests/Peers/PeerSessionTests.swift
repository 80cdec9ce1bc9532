import Basics
import Peer
import Testing

@testable import RoomMedia

@Suite("PeerSession")
struct HostedPeerTests {
    @Test("an overload leaves the top rung to peers that share the recording's frames")
    func ceiling() {
        let plain = VideoSendFormat(codec: .h264, profileLevelID: "42e01f")
        #expect(PeerSession.sharesRecording([.main], view: .main, format: plain))
        #expect(!PeerSession.sharesRecording([], view: .main, format: plain))
        #expect(!PeerSession.sharesRecording([ViewID("recording")], view: .main, format: plain))
        let choice = ViewID("main", choice: ViewChoice(layout: "grid", pins: ["a"]))
        #expect(!PeerSession.sharesRecording([.main], view: choice, format: plain))
        #expect(!PeerSession.sharesRecording([.main], view: .main, format: VideoSendFormat(codec: .vp8)))
        let single = VideoSendFormat(codec: .h264, packetizationMode: 0)
        #expect(!PeerSession.sharesRecording([.main], view: .main, format: single))
        #expect(!PeerSession.sharesRecording([.main], view: .main, format: nil))
    }
}
