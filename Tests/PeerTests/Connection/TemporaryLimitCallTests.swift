import Basics
import Simulation
import Testing

@testable import Peer

/// The server's reports, parsed in the client's place.
private final class Heard {
    var notifications: [TemporaryMaxBitrate] = []

    /// Reads and drops every report of the server.
    func listen(to call: SimulatedCall) {
        call.filter = { [unowned call] side, datagram in
            guard side == .server, datagram.withUnsafeBytes({ DatagramKind($0) }) == .rtcp else { return false }
            var bytes = datagram
            let length = bytes.withUnsafeMutableBytes { buffer in
                (try? call.client.srtp?.unprotectRTCP(buffer, length: buffer.count)) ?? 0
            }
            let plain = Array(bytes.prefix(length))
            var reader = RTCPReader(plain.span)
            while let packet = reader.next() {
                if case .temporaryLimitNotification(let notification) = packet {
                    self.notifications.append(notification)
                }
            }
            return true
        }
    }
}

@Suite("A peer that limits our video temporarily")
struct TemporaryLimitCallTests {
    @Test("It is notified each time of the limits that bind, gets no more, and more when it raises a limit or leaves")
    func obeyed() throws {
        let call = try SimulatedCall.make(seed: 11)
        CallMedia().attach(to: call)
        let offer = call.client.makeOffer(at: call.now)
        let answer = try call.server.answer(offer, at: call.now)
        #expect(offer.contains(" ccm tmmbr\r\n") && answer.contains(" ccm tmmbr\r\n"))
        try call.client.accept(answer: answer, at: call.now)
        try #require(call.run(atMost: .seconds(20)) { $0.areConnected })
        call.run(for: .seconds(5))
        #expect(call.server.estimate > .kilobits(600))
        let heard = Heard()
        heard.listen(to: call)
        let picture = call.server.sender.video.stream.ssrc
        func ask(_ rate: BitRate, by owner: SSRC = 77) {
            let request = TemporaryMaxBitrate(
                senderSSRC: owner, limits: [.init(ssrc: picture, bitRate: rate, overhead: 20)])
            call.client.sendReport([.receiverReport(ReceiverReport(ssrc: owner)), .temporaryLimit(request)])
            call.run(for: .milliseconds(200))
        }
        func told(_ limits: TemporaryMaxBitrate.Limit...) -> TemporaryMaxBitrate {
            .init(senderSSRC: picture, limits: limits)
        }
        let strict = TemporaryMaxBitrate.Limit(ssrc: 77, bitRate: .kilobits(250), overhead: 20)

        ask(.kilobits(250))
        #expect(heard.notifications == [told(strict)])
        #expect(call.server.estimate <= .kilobits(250 + 70), "the video's limit and the audio beside it")
        #expect(call.server.estimate > .kilobits(200))
        ask(.kilobits(500), by: 78)
        #expect(
            heard.notifications.dropFirst() == [told(strict)],
            "another one's looser limit changes nothing, and is answered")
        ask(.kilobits(500))
        #expect(heard.notifications.last == told(.init(ssrc: 77, bitRate: .kilobits(500), overhead: 20)))
        #expect(call.server.estimate > .kilobits(400))
        call.client.sendReport([.receiverReport(ReceiverReport(ssrc: 77)), .goodbye(Goodbye(ssrcs: [77]))])
        call.run(for: .seconds(1))
        #expect(heard.notifications.last == told())
        #expect(heard.notifications.count == 4)
        #expect(call.server.estimate > .kilobits(600))
    }

    @Test("A limit of another stream does not affect ours, and is not answered")
    func others() throws {
        let call = try SimulatedCall.connected(seed: 12, for: .seconds(5))
        let heard = Heard()
        heard.listen(to: call)
        let request = TemporaryMaxBitrate(
            senderSSRC: 77, limits: [.init(ssrc: 12_345, bitRate: .kilobits(50), overhead: 20)])
        call.client.sendReport([.receiverReport(ReceiverReport(ssrc: 77)), .temporaryLimit(request)])
        call.run(for: .milliseconds(200))
        #expect(heard.notifications.isEmpty)
        #expect(call.server.estimate > .kilobits(600))
    }

    @Test(
        "It is negotiated if offered, with a greatest packet rate or without",
        arguments: [("ccm tmmbr", true), ("ccm tmmbr smaxpr=120", true), ("ccm tstr", false)])
    func agreed(line: String, isAgreed: Bool) { #expect(CodecFeedback([line]).contains(.tmmbr) == isAgreed) }
}
