import Basics
import Cryptography
import TestSupport
import Testing
import Threads

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

/// Who finds a client by its id, in simulated time.
@Suite struct AppRTCClientsTests {
    private let start = Instant.zero
    private let home = IPAddress("203.0.113.9")

    private func address(_ number: Int) -> IPAddress { .v4(0x0A00_0000 + UInt32(number)) }

    @Test func `ids and keys have 128 random bits and nothing of each other`() throws {
        let clients = AppRTCClients(at: start)
        let made = (0..<200).map { _ in clients.add(room: "r", address: home, at: start) }
        #expect(Set(made.map(\.id) + made.map(\.key)).count == 400)
        for client in made {
            #expect(Base64URL.decode(client.id)?.count == 16 && Base64URL.decode(client.key)?.count == 16)
            // The room server's rule for ids, which the apps' URLs rely on.
            #expect(
                client.id.utf8.allSatisfy { Character(UnicodeScalar($0)).isLetter || "0123456789-_".utf8.contains($0) })
        }
    }

    @Test func `unknown ids count per room, from however many addresses they come`() {
        let clients = AppRTCClients(at: start)
        let (victim, other) = (
            clients.add(room: "r", address: home, at: start), clients.add(room: "other", address: home, at: start)
        )
        for number in 0..<400 { _ = clients.find("guess", in: "r", from: address(number / 10), at: start) }
        #expect(clients.find(victim.id, in: "r", from: address(1000), at: start) == nil)
        #expect(clients.find(other.id, in: "other", from: address(1000), at: start) === other)
        #expect(clients.find(victim.id, in: "r", from: home, at: start) === victim, "a friend at home is not kept out")
        #expect(clients.find(victim.id, in: "r", from: address(1000), at: start + .seconds(1)) === victim)
    }

    @Test func `and in all`() {
        let clients = AppRTCClients(at: start)
        let victim = clients.add(room: "r", address: home, at: start)
        for number in 0..<1200 { _ = clients.find("guess", in: "none\(number)", from: address(number), at: start) }
        #expect(clients.find(victim.id, in: "r", from: address(5000), at: start) == nil)
        #expect(clients.find(key: victim.key, from: address(5000), at: start) == nil)
        #expect(clients.find(victim.id, in: "r", from: home, at: start) === victim)
        #expect(clients.unknownCount == 1200)
    }

    @Test func `right ids count for nothing`() {
        let clients = AppRTCClients(at: start)
        let client = clients.add(room: "r", address: home, at: start)
        for _ in 0..<5000 { #expect(clients.find(client.id, in: "r", from: address(1), at: start) === client) }
    }

    @Test func `a client that has ended is unknown, by its key too`() {
        let clients = AppRTCClients(at: start)
        let client = clients.add(room: "r", address: home, at: start)
        clients.remove(client)
        #expect(clients.find(client.id, in: "r", from: home, at: start) == nil)
        #expect(clients.find(key: client.key, from: home, at: start) == nil && clients.count == 0)
    }
}

/// Requests for credentials that wait for a seat.
@Suite struct AppRTCSeatWaitsTests {
    private let home = IPAddress("203.0.113.9")
    private let away = IPAddress("198.51.100.7")

    /// A sleep that ends when told to.
    private final class Sleep: Sendable {
        let sleepers = Guarded<[CheckedContinuation<Void, Never>]>([])
        func wake() { for sleeper in sleepers.withLock({ $0 }) { sleeper.resume() } }
    }

    @Test func `the answer comes with the seat of the address, and with no other`() async {
        let waits = AppRTCSeatWaits { _ in try? await Task.sleep(for: .seconds(3600)) }
        async let seat = waits.seat(at: home) { nil }
        #expect(await eventually { waits.count == 1 })
        waits.seated("s1", at: away)
        #expect(waits.count == 1)
        waits.seated("s2", at: home)
        #expect(await seat == "s2")
    }

    @Test func `without a seat the answer comes at the limit`() async {
        let sleep = Sleep()
        let waits = AppRTCSeatWaits { _ in
            await withCheckedContinuation { done in sleep.sleepers.withLock { $0.append(done) } }
        }
        async let seat = waits.seat(at: home) { nil }
        #expect(await eventually { sleep.sleepers.withLock { $0.count } == 1 })
        sleep.wake()
        #expect(await seat == nil)
    }

    @Test func `few wait at one address, and none once the server ends`() async {
        let waits = AppRTCSeatWaits { _ in try? await Task.sleep(for: .seconds(3600)) }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<40 { group.addTask { #expect(await waits.seat(at: home) { nil } == nil) } }
            #expect(await eventually { waits.count == 16 })
            waits.drain()
        }
        #expect(await waits.seat(at: home) { nil } == nil)
    }
}
