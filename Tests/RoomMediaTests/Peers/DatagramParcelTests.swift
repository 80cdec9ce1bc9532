import Basics
import Testing

@testable import RoomMedia

@Suite("DatagramParcel")
struct DatagramParcelTests {
    @Test("returns each datagram unchanged and in order, with its flow, seat and arrival")
    func order() {
        var parcel = DatagramParcel()
        #expect(parcel.isEmpty)
        let sizes = [1, 1200, 3, 0, 40]
        for (number, size) in sizes.enumerated() {
            let flow = Flow(
                .udp, local: SocketAddress(.v4(1), port: 1), remote: SocketAddress(.v4(2), port: UInt16(number)))
            [UInt8](repeating: UInt8(number), count: size).withUnsafeBytes {
                parcel.append($0, flow: flow, seat: 10 + number, at: Instant(nanoseconds: Int64(number)))
            }
        }
        #expect(parcel.count == 5 && parcel.size >= 1244)
        var number = 0
        parcel.open { datagram, flow, seat, arrival in
            #expect(Array(datagram) == [UInt8](repeating: UInt8(number), count: sizes[number]))
            #expect(flow.remote.port == UInt16(number) && seat == 10 + number && arrival.nanoseconds == Int64(number))
            // As decryption changes it in place.
            for index in datagram.indices { datagram[index] = 0xFF }
            number += 1
        }
        #expect(number == 5)
    }
}
