import Basics
import Conference

/// Tickets of several conferences that trust each other, without cryptography.
final class TestSecrets: SeatSecrets {
    private let tickets = Guarded<[String: SeatTicket]>([:])

    func secret(of ticket: SeatTicket) -> String {
        tickets.withLock { tickets in
            let secret = "ticket-\(tickets.count)"
            tickets[secret] = ticket
            return secret
        }
    }

    func ticket(in secret: String) -> SeatTicket? { tickets.withLock { $0[secret] } }

    /// Another ticket of the same seat.
    func changed(_ secret: String, _ body: (inout SeatTicket) -> Void) -> String {
        guard var ticket = ticket(in: secret) else { return "" }
        body(&ticket)
        return self.secret(of: ticket)
    }
}
