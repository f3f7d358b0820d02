"""How asynchronous work is run, shielded, limited in time and isolated.

========================================  =====================================  =======================================
helper                                    guarantees                             when the caller is cancelled
========================================  =====================================  =======================================
:func:`~.tasks.shielded`                  the work ends, also when a loop that   the work ends first, then
                                          closes cancels its task; it may run    CancelledError is raised
                                          twice
:func:`~.tasks.with_deadline`             an answer or TimeoutError in time;     the work is cancelled
                                          overdue work goes on beside, at most
                                          a single task for each place
:func:`~.optimistic.change_atomically`    the change is decided anew until no    it ends at once; what the store
                                          other writer comes in between          acknowledged stays
:func:`~.isolation.isolated`              a hung call of a model holds up        the daemon thread is left to itself,
                                          neither loop nor process; at most      and counts against the model's limit
                                          four at a time for each model          until it ends
:func:`~.isolation.call_user_code`        the same for any function; what is     as ``isolated``; an awaitable is
                                          awaitable is awaited                   cancelled
:func:`~.isolation.iterate_user_stream`   each piece in time, all pieces of a    the stream is closed within a second
                                          blocking stream from the same thread
:class:`~.loop.Loop`                      blocking calls from any thread; all    ``run`` of an interrupted thread leaves
                                          end when the loop is stopped           the work running, and
                                                                                 ``run_while_wanted`` cancels it
========================================  =====================================  =======================================
"""
