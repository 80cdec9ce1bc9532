import Basics
import Peer
import Testing

@testable import RoomMedia

@Suite("What a participant is asked to send")
struct ReceiveLimitsTests {
    @Test("what its tiles need, and of a forwarded picture no more than the links carry")
    func rates() {
        var limits = ReceiveLimits()
        limits.forwarded[.camera] = .kilobits(400)
        #expect(limits.rate == nil, "before its tiles are known")
        var tiles = SenderLimits(camera: SenderLimit(rate: .kilobits(1000)))
        tiles.screen = SenderLimit(rate: .kilobits(2500))
        limits.tiles = tiles
        #expect(limits.rate == .kilobits(2900))
        limits.forwarded = [.screen: .kilobits(3000)]
        #expect(limits.rate == .kilobits(3500), "a link that carries more asks for no more than the tile needs")
    }
}
