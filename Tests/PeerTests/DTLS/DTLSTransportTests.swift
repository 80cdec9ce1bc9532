import Basics
import Testing

@testable import Peer

@Suite struct DTLSTransportTests {
    private func link(seed: UInt64 = 1, fingerprints: Bool = true) throws -> DTLSLink {
        try DTLSLink(
            client: TestIdentities.first.get(), server: TestIdentities.second.get(), seed: seed,
            exchangeFingerprints: fingerprints)
    }

    /// RFC 5764 §4.1.2 and §4.2.
    @Test func `Both ends connect in two round trips with mirrored keys of the cheapest profile`() throws {
        let link = try link()
        link.start()
        let took = link.run(for: .seconds(5)) { $0.bothConnected }
        let client = try #require(link.clientKeys)
        let server = try #require(link.serverKeys)
        #expect(took == .milliseconds(40))
        #expect(client.profile == .aes128GCM)
        #expect(client.local == server.remote)
        #expect(client.remote == server.local)
        #expect(client.local != client.remote)
        #expect(client.local.count == 28)
        #expect(link.largest <= 1200)
        #expect(link.client.nextDeadline == nil)
        // Nothing has shown that its last flight has arrived.
        #expect(link.server.nextDeadline == link.now - .milliseconds(10) + LastFlight.firstWait)
    }

    @Test(arguments: [(true, false), (false, true), (true, true)])
    func `An RSA peer connects in either role`(rsaClient: Bool, rsaServer: Bool) throws {
        let rsa = try TestIdentities.rsa.get()
        let ecdsa = try TestIdentities.first.get()
        let link = try DTLSLink(client: rsaClient ? rsa : ecdsa, server: rsaServer ? rsa : ecdsa)
        link.start()
        link.run(for: .seconds(5)) { $0.bothConnected }
        #expect(link.bothConnected)
        #expect(link.largest <= 1200)
    }

    @Test func `Flights are split at the MTU`() throws {
        var configuration = DTLSConfiguration()
        configuration.mtu = 300
        let rsa = try TestIdentities.rsa.get()
        let link = try DTLSLink(client: rsa, server: rsa, configuration: configuration)
        link.start()
        link.run(for: .seconds(5)) { $0.bothConnected }
        #expect(link.bothConnected)
        #expect(link.largest <= 300)
    }

    /// One datagram gets lost less often than five, and a Finished without its ChangeCipherSpec is of no use.
    @Test func `A repeated flight takes no more datagrams than the first time`() throws {
        let link = try link()
        var flights: [Bool: [Int: Duration]] = [true: [:], false: [:]]
        let start = link.now
        // The server's first flight is lost, and later the client's answer and the server's Finished, once each.
        link.drop = { fromClient, index in
            flights[fromClient]?[index] = link.now - start
            return fromClient ? false : index == 0 || index == 2
        }
        link.start()
        link.run(for: .seconds(5)) { $0.bothConnected }
        #expect(link.bothConnected)
        for (fromClient, sent) in flights {
            #expect(Set(sent.values).count == sent.count, "\(fromClient): \(sent)")
        }
    }

    /// A link whose client repeats nothing for ten seconds, as a browser that has lost several flights before.
    private func patientLink() throws -> DTLSLink {
        var patient = DTLSConfiguration()
        patient.firstRetransmission = .seconds(10)
        return try DTLSLink(client: TestIdentities.first.get(), server: TestIdentities.second.get(), ofClient: patient)
    }

    @Test func `A lost end of the handshake comes again before the client asks`() throws {
        let link = try patientLink()
        // The flight with the Finished, and its first repetition.
        link.drop = { !$0 && (1...2).contains($1) }
        link.start()
        let took = link.run(for: .seconds(20)) { $0.bothConnected }
        #expect(link.bothConnected)
        // 250 and 500 ms, and the way.
        #expect(took < .milliseconds(850), "\(took)")
        #expect(link.server.statistics.repetitions == 2 && link.server.statistics.retransmissions == 0)
    }

    @Test func `The end of the handshake is repeated five times at most, and never to who has it`() throws {
        for proof in ["none", "data", "media", "close"] {
            let link = try patientLink()
            var fromServer: [Instant] = []
            link.drop = { fromClient, _ in
                if !fromClient { fromServer.append(link.now) }
                return false
            }
            link.start()
            link.run(for: .seconds(1)) { $0.bothConnected }
            let end = try #require(fromServer.last)
            switch proof {
            case "data": #expect(link.client.send([1, 2, 3]))
            case "media": link.server.peerHasFinished()
            case "close": link.client.close()
            default: break
            }
            link.run(for: .seconds(60))
            let again = fromServer.filter { $0 > end }.map { $0 - end }
            if proof == "none" {
                #expect(again == [250, 750, 1750, 3750, 7750].map { .milliseconds($0) })
            } else {
                #expect(link.server.statistics.repetitions == 0, "\(proof): \(again)")
            }
            #expect(link.server.nextDeadline == nil && link.clientEvents.failure == nil)
        }
    }

    @Test func `A legacy transport still prefers the newer version`() throws {
        var configuration = DTLSConfiguration()
        configuration.allowsLegacyVersions = true
        let link = try DTLSLink(
            client: TestIdentities.first.get(), server: TestIdentities.second.get(), configuration: configuration)
        link.start()
        link.run(for: .seconds(5)) { $0.bothConnected }
        #expect(link.clientKeys?.profile == .aes128GCM)
    }

    @Test(arguments: 0..<6)
    func `Any one lost datagram costs less than half a second`(index: Int) throws {
        for fromClient in [true, false] {
            let link = try link()
            link.drop = { $0 == fromClient && $1 == index }
            link.start()
            let took = link.run(for: .seconds(5)) { $0.bothConnected }
            #expect(link.bothConnected)
            #expect(took < .milliseconds(500), "lost \(fromClient ? "client" : "server") datagram \(index)")
        }
    }

    @Test(arguments: 1...20)
    func `A handshake completes with a third of all datagrams lost, some duplicated or late`(seed: UInt64) throws {
        let link = try link(seed: seed)
        link.loss = 0.3
        link.duplication = 0.2
        link.reordering = 0.3
        link.start()
        let took = link.run(for: .seconds(30)) { $0.bothConnected }
        #expect(link.bothConnected, "\(link.clientEvents) \(link.serverEvents)")
        #expect(took < .seconds(20))
    }

    @Test func `Lost flights are repeated after 100, 200, 400 ms and so on up to 4 s, for 30 s`() throws {
        let link = try link()
        link.drop = { _, _ in true }
        link.start()
        var waits: [Duration] = []
        while let deadline = link.client.nextDeadline {
            let before = link.client.statistics.retransmissions
            let wait = deadline - link.now
            link.now = deadline
            link.client.advance(to: deadline)
            if link.client.statistics.retransmissions > before {
                waits.append(wait)
                #expect(link.client.nextTransmit() != nil)
            }
            link.collect()
        }
        #expect(waits.prefix(7) == [100, 200, 400, 800, 1600, 3200, 4000].map { Duration.milliseconds($0) }[...])
        #expect(link.clientEvents.failure?.contains("30") == true)
        link.run(for: .seconds(40))
        #expect(link.serverEvents.failure != nil)
    }

    @Test(arguments: [false, true])
    func `A ClientHello in two datagrams is reassembled, in either order`(reversed: Bool) throws {
        let link = try link()
        link.start()
        // The browsers' hellos of 1.4 kB come like this. Content 22, version, epoch and sequence, length; then type,
        // length, message number, fragment offset and fragment length.
        let client = link.client
        let hello = try #require(client.nextTransmit())
        let body = Array(hello[25...])
        let cut = body.count / 2
        func fragment(_ range: Range<Int>, sequence: UInt8) -> [UInt8] {
            var bytes = Array(hello[0..<10]) + [sequence]
            bytes.append16(UInt16(12 + range.count))
            bytes += hello[13..<19]
            bytes.append24(UInt32(range.lowerBound))
            bytes.append24(UInt32(range.count))
            return bytes + body[range]
        }
        // The client numbers its next records from 1, and a number is taken once.
        let fragments = [fragment(0..<cut, sequence: 0), fragment(cut..<body.count, sequence: 40)]
        for bytes in reversed ? fragments.reversed() : fragments {
            #expect(link.server.nextTransmit() == nil)
            bytes.withUnsafeBytes { link.server.receive($0, at: link.now) }
        }
        link.run(for: .seconds(5)) { $0.bothConnected }
        #expect(link.bothConnected)
        #expect(link.client.statistics.retransmissions == 0)
    }

    @Test func `A certificate without a signalled fingerprint ends the handshake before any delivery`() throws {
        let link = try link()
        link.server.setRemoteFingerprints([try TestIdentities.rsa.get().fingerprint])
        link.start()
        link.run(for: .seconds(5))
        #expect(link.serverKeys == nil)
        #expect(link.serverEvents.failure?.contains("certificate") == true)
        #expect(link.serverEvents.data.isEmpty)
        #expect(link.clientEvents.last == .closed)
    }

    @Test func `Data that comes before the fingerprints is held`() throws {
        let link = try link(fingerprints: false)
        link.client.setRemoteFingerprints([try TestIdentities.second.get().fingerprint])
        link.start()
        link.run(for: .seconds(2))
        #expect(link.clientKeys != nil)
        #expect(link.serverEvents.isEmpty)
        #expect(!link.server.send([1]))
        link.client.send([1, 2, 3])
        link.run(for: .seconds(60))
        #expect(link.serverEvents.isEmpty)
        link.server.setRemoteFingerprints([try TestIdentities.first.get().fingerprint])
        link.collect()
        #expect(link.serverKeys != nil)
        #expect(link.serverEvents.count == 2)
        #expect(link.serverEvents.last == .data([1, 2, 3]))
    }

    @Test func `Records packed into one datagram are all read`() throws {
        let link = try link()
        link.start()
        link.run(for: .seconds(5)) { $0.bothConnected }
        var packed: [UInt8] = []
        for value in 0..<5 as Range<UInt8> {
            #expect(link.client.send([value, value]))
            packed += try #require(link.client.nextTransmit())
        }
        packed.withUnsafeBytes { link.server.receive($0, at: link.now) }
        link.collect()
        #expect(link.serverEvents.data == (0..<5 as Range<UInt8>).map { [$0, $0] })
    }

    @Test func `Data goes both ways, and a record that fits no datagram is refused`() throws {
        let link = try link()
        link.start()
        link.run(for: .seconds(5)) { $0.bothConnected }
        let largest = [UInt8](repeating: 7, count: 1200 - DTLSTransport.recordOverhead)
        #expect(link.client.send(largest))
        #expect(!link.client.send(largest + [7]))
        #expect(!link.client.send([]))
        #expect(link.server.send([9]))
        link.run(for: .milliseconds(50))
        #expect(link.serverEvents.data == [largest])
        #expect(link.clientEvents.data == [[9]])
        #expect(link.largest <= 1200)
    }

    @Test func `A close_notify reaches the peer, once`() throws {
        let link = try link()
        link.start()
        link.run(for: .seconds(5)) { $0.bothConnected }
        link.client.close()
        link.run(for: .milliseconds(50))
        #expect(link.serverEvents.last == .closed)
        #expect(link.serverEvents.filter { $0 == .closed }.count == 1)
        #expect(!link.client.send([1]))
        #expect(!link.server.send([1]))
    }

    @Test func `Junk before, during and after the handshake changes nothing`() throws {
        let link = try link()
        var random = SeededRandom(seed: 99)
        func junk() {
            for _ in 0..<40 {
                var bytes = (0..<Int.random(in: 0...100, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                if !bytes.isEmpty, Bool.random(using: &random) { bytes[0] = UInt8.random(in: 20...25, using: &random) }
                bytes.withUnsafeBytes { link.server.receive($0, at: link.now) }
                bytes.withUnsafeBytes { link.client.receive($0, at: link.now) }
            }
        }
        link.server.start(at: link.now)
        junk()
        link.start()
        junk()
        link.run(for: .seconds(5)) { link in
            junk()
            return link.bothConnected
        }
        #expect(link.bothConnected)
        junk()
        #expect(link.client.send([5]))
        link.run(for: .milliseconds(50))
        #expect(link.serverEvents.data == [[5]])
        #expect(link.server.statistics.ignoredDatagrams > 0)
    }
}

@Suite struct DTLSIdentityTests {
    @Test func `Each identity is new and has a SHA-256 fingerprint`() throws {
        let first = try TestIdentities.first.get()
        let second = try TestIdentities.second.get()
        #expect(first.fingerprint.algorithm == "sha-256")
        #expect(first.fingerprint.bytes.count == 32)
        #expect(first.fingerprint != second.fingerprint)
    }
}
