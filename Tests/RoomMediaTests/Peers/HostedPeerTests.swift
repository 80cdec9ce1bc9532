import Basics
import Peer
import Testing

@testable import RoomMedia

@Suite("HostedPeer")
struct HostedPeerTests {
    @Test("an overload leaves the top rung to peers that share the recording's frames")
    func ceiling() {
        let plain = VideoSendFormat(codec: .h264, profileLevelID: "42e01f")
        #expect(HostedPeer.sharesRecording([.main], view: .main, format: plain))
        #expect(!HostedPeer.sharesRecording([], view: .main, format: plain))
        #expect(!HostedPeer.sharesRecording([ViewID("recording")], view: .main, format: plain))
        let choice = ViewID("main", choice: ViewChoice(layout: "grid", pins: ["a"]))
        #expect(!HostedPeer.sharesRecording([.main], view: choice, format: plain))
        #expect(!HostedPeer.sharesRecording([.main], view: .main, format: VideoSendFormat(codec: .vp8)))
        let single = VideoSendFormat(codec: .h264, packetizationMode: 0)
        #expect(!HostedPeer.sharesRecording([.main], view: .main, format: single))
        #expect(!HostedPeer.sharesRecording([.main], view: .main, format: nil))
    }
}
