"""Models of the tests."""

from django.db import models
from snowraft_django import next_id


class Order(models.Model):
    item = models.CharField(max_length=100)
    number = models.BigIntegerField(default=next_id, unique=True)


class Line(models.Model):
    order = models.ForeignKey(Order, on_delete=models.CASCADE)
    text = models.CharField(max_length=100)
