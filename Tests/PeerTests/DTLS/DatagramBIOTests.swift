import Basics
import COpenSSL
import Glibc
import Testing

@testable import Peer

@Suite("OpenSSL's retransmission timer under our clock")
struct DatagramBIOTests {
    @Test("If OpenSSL passes a copy on its stack, nothing is written to it, neither then nor later")
    func copied() {
        let bio = DatagramBIO(mtu: 1200, timer: .copied)
        var told = timeval(tv_sec: 77, tv_usec: 5)
        bio.timerChanged(&told)
        #expect(bio.timerStarted && !bio.timerStopped)
        let isExpired = bio.expireTimer()
        #expect(!isExpired)
        #expect(told.tv_sec == 77 && told.tv_usec == 5)
        told = timeval()
        bio.timerChanged(&told)
        #expect(bio.timerStopped && !bio.timerStarted)
    }

    @Test("If it passes its own expiry time, our clock sets it")
    func shared() {
        let bio = DatagramBIO(mtu: 1200, timer: .shared)
        let own = UnsafeMutablePointer<timeval>.allocate(capacity: 1)
        defer { own.deallocate() }
        own.initialize(to: timeval(tv_sec: 77, tv_usec: 5))
        bio.timerChanged(own)
        #expect(own.pointee.tv_sec > 1_000_000_000)
        let isExpired = bio.expireTimer()
        #expect(isExpired)
        #expect(own.pointee.tv_sec == 1)
    }

    @Test("This machine's OpenSSL is one or the other")
    func version() {
        #expect((DatagramBIO.Timer.ofThisLibrary == .shared) == (OpenSSL_version_num() < 0x3020_0000))
    }

    @Test("With the timer of a newer OpenSSL a handshake completes, and a lost ClientHello is retransmitted")
    func wallClock() throws {
        var configuration = DTLSConfiguration()
        configuration.firstRetransmission = .milliseconds(30)
        let identities = (client: try TestIdentities.first.get(), server: try TestIdentities.second.get())
        var now = Instant(nanoseconds: 1_000_000_000)
        let client = try DTLSTransport(
            role: .client, identity: identities.client, configuration: configuration, timer: .copied, at: now)
        let server = try DTLSTransport(
            role: .server, identity: identities.server, configuration: configuration, timer: .copied, at: now)
        client.setRemoteFingerprints([identities.server.fingerprint])
        server.setRemoteFingerprints([identities.client.fingerprint])
        client.start(at: now)
        server.start(at: now)
        let lost = client.nextTransmit()
        #expect(lost != nil)
        // The one place where real time must pass: OpenSSL's clock cannot be moved there.
        let deadline = ContinuousClock.now + .seconds(10)
        while client.nextEvent() == nil, ContinuousClock.now < deadline {
            while let bytes = client.nextTransmit() { bytes.withUnsafeBytes { server.receive($0, at: now) } }
            while let bytes = server.nextTransmit() { bytes.withUnsafeBytes { client.receive($0, at: now) } }
            usleep(2000)
            now += .milliseconds(2)
            client.advance(to: now)
            server.advance(to: now)
        }
        #expect(client.send([1]))
        #expect(client.statistics.retransmissions >= 1)
    }
}
