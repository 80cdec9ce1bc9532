import Basics
import Testing

@testable import Terminal
@testable import WebServer

@Suite struct StartNoticeTests {
    private static let terminal = Terminal(isTerminal: true, showsPictures: true, columns: 80)
    private static let none = Terminal(isTerminal: false, showsPictures: false, columns: 0)
    private static let addresses = [IPAddress("192.168.1.23"), IPAddress("10.0.0.5"), IPAddress("2001:db8::7")]
        .compactMap { $0 }

    private func notice(
        _ listen: String = "0.0.0.0:8080", isSecure: Bool = false, _ terminal: Terminal = Self.terminal,
        change: (inout StartNotice) -> Void = { _ in }
    ) throws -> [String] {
        var notice = StartNotice(
            version: "1.2", listen: try #require(Endpoint(listen)), isSecure: isSecure, addresses: Self.addresses,
            terminal: terminal)
        change(&notice)
        return notice.lines
    }

    @Test func `with TLS it names the addresses in the network, and shows the first as a QR code`() throws {
        let lines = try notice(isSecure: true) { $0.isSelfSigned = true }
        #expect(
            lines.prefix(4) == [
                "Tessera 1.2 is ready: open https://localhost:8080/", "Colleagues and phones in this network open",
                "  https://192.168.1.23:8080/", "  https://10.0.0.5:8080/",
            ])
        #expect(lines[4].contains("warns"))
        #expect(Array(lines.dropFirst(5)) == TerminalPicture.lines(try #require(QRCode("https://192.168.1.23:8080/"))))
        let signed = try notice(isSecure: true)
        #expect(signed.count == lines.count - 1 && !signed.contains { $0.contains("warns") })
        #expect(try notice("[::]:8080", isSecure: true).contains("  https://[2001:db8::7]:8080/"))
    }

    @Test func `a log gets the addresses, and no picture`() throws {
        #expect(try notice(isSecure: true, Self.none).count == 4)
        #expect(try notice(isSecure: true) { $0.wantsCode = false }.count == 4)
        let narrow = Terminal(isTerminal: true, showsPictures: true, columns: 32)
        #expect(try notice(isSecure: true, narrow).count == 4)
        #expect(try notice(isSecure: true, Terminal(isTerminal: true, showsPictures: false, columns: 80)).count == 4)
    }

    @Test func `without TLS it says first what others lack, and has no picture`() throws {
        let lines = try notice()
        #expect(lines.count == 5 && lines[0] == "Tessera 1.2 is ready: open http://localhost:8080/")
        #expect(lines[1].contains("HTTPS") && lines[1].contains("--http-tls-self-signed"))
        #expect(lines.suffix(2) == ["  http://192.168.1.23:8080/", "  http://10.0.0.5:8080/"])
        #expect(try notice("0.0.0.0:8080", Self.none).count == 2)
    }

    @Test func `one address is shown alone`() throws {
        #expect(try notice("127.0.0.1:8080") == ["Tessera 1.2 is ready: open http://127.0.0.1:8080/"])
        #expect(try notice("127.0.0.1:8080", isSecure: true) == ["Tessera 1.2 is ready: open https://127.0.0.1:8080/"])
        let lines = try notice("192.168.1.23:443", isSecure: true)
        #expect(lines.first == "Tessera 1.2 is ready: open https://192.168.1.23:443/")
        #expect(Array(lines.dropFirst()) == TerminalPicture.lines(try #require(QRCode("https://192.168.1.23:443/"))))
    }

    @Test func `a public URL is what everybody else opens, whatever is behind it`() throws {
        let lines = try notice { $0.publicURL = "https://meet.example" }
        #expect(lines[1...2] == ["Everybody else opens", "  https://meet.example/"])
        #expect(Array(lines.dropFirst(3)) == TerminalPicture.lines(try #require(QRCode("https://meet.example/"))))
    }

    @Test func `addresses that no other machine can use are left out, and that of the default route is first`() {
        let found = [
            "127.0.0.1", "172.17.0.1", "169.254.3.4", "192.168.1.23", "::1", "fe80::1", "2001:db8::7", "172.17.0.1",
        ]
        .compactMap { IPAddress($0) }
        let chosen = LocalNetwork.choose(found, first: IPAddress("192.168.1.23")).map(\.description)
        #expect(chosen == ["192.168.1.23", "172.17.0.1", "2001:db8::7"])
        let many = (1...30).map { IPAddress.v4(0x0A00_0000 + $0) }
        #expect(LocalNetwork.choose(many, first: nil).count == 4)
        #expect(LocalNetwork.choose([], first: IPAddress("192.168.1.23")).isEmpty)
    }

    @Test(arguments: [
        ([:], true), (["LANG": "de_DE.UTF-8"], true), (["LANG": "C.utf8"], true), (["LANG": "C"], false),
        (["LANG": "de_DE.UTF-8", "LC_ALL": "POSIX"], false), (["LC_ALL": "", "LANG": "en_US.UTF-8"], true),
        (["TERM": "dumb"], false),
    ])
    func `pictures need block elements`(environment: [String: String], shows: Bool) {
        #expect(Terminal.showsPictures(environment) == shows)
    }
}
