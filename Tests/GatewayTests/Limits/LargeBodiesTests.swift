import Basics
import Testing

@testable import Gateway

@Suite struct LargeBodiesTests {
    @Test func `an address has four places, and all addresses sixteen`() {
        let bodies = LargeBodies()
        var places: [LargeBodies.Place] = []
        for _ in 0..<5 { if let place = bodies.take(.v4(1)) { places.append(place) } }
        #expect(places.count == LargeBodies.perAddress)
        for address in UInt32(2)..<20 { if let place = bodies.take(.v4(address)) { places.append(place) } }
        #expect(places.count == LargeBodies.limit)
        #expect(bodies.take(.v4(99)) == nil)
        places.removeFirst()
        #expect(bodies.take(.v4(99)) != nil)
    }
}
