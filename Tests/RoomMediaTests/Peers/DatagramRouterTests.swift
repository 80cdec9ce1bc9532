import Basics
import Peer
import Sockets
import Testing

@testable import RoomMedia

@Suite("DatagramRouter")
struct DatagramRouterTests {
    private let flow = Flow(
        .udp, local: SocketAddress(.v4(0x7F00_0001), port: 1), remote: SocketAddress(.v4(0x7F00_0001), port: 2))

    @Test("datagrams for the peers of other loops are handed over once, each loop's together")
    func parcels() {
        var router = DatagramRouter(ufrags: LoopUfrags())
        for (loop, number) in [(1, 7), (2, 8), (1, 9)] {
            [UInt8](repeating: 128, count: 20).withUnsafeBytes {
                router.keep($0, flow, for: PeerID(loop: loop, number: number), at: .zero)
            }
        }
        let parcels = router.takeParcels()
        #expect(parcels.mapValues(\.count) == [1: 2, 2: 1])
        #expect(router.takeParcels().isEmpty)
    }

    @Test("a flow is its peer's from the claim on, until the peer or the flow is gone")
    func claims() {
        var router = DatagramRouter(ufrags: LoopUfrags())
        let (ann, bob) = (PeerID(loop: 0, number: 1), PeerID(loop: 1, number: 2))
        let media = [UInt8](repeating: 128, count: 20)
        func owner() -> PeerID? { media.withUnsafeBytes { router.owner(of: $0, flow: flow) } }
        #expect(owner() == nil && !router.isOwned(flow))
        #expect(router.settle(.answered, on: flow, by: ann) { _ in false })
        #expect(owner() == ann && router.isOwned(flow))
        #expect(!router.settle(.checked, on: flow, by: bob) { $0 == ann }, "it has answered a check there")
        #expect(owner() == ann)
        router.remove(ann)
        #expect(owner() == nil)
        #expect(router.settle(.answered, on: flow, by: bob) { _ in false })
        #expect(router.remove(flow) == bob && !router.isOwned(flow))
    }
}
